/**
 * The response of a wrapped handler. What happens in which tick:
 *
 * ```
 * the handler runs        response-head.ts has replaced `res.writeHead`, and waits.
 * ├ it answers            `writeHead`, whoever calls it: Node makes the head's text, and sends nothing
 * │                       yet. If the handler has not returned, and the outbox stores within `add`,
 * │                       `hold` corks the socket.
 * ├ it passes on          `next(…)` ends the hold, and none begins any more: another handler answers.
 * └ it returns a promise
 * microtasks              Resolved: with a head below 400, the report is stored, then the hold ends.
 *                         Without a head, the report waits for it. Rejected: `next(error)`, no report.
 * end of this turn        `setImmediate`: a hold that is left ends, and the bytes leave before the report.
 * a later turn            The handler resolves: reported if the head is out, otherwise within `writeHead`.
 * `finish` or `close`     Whichever comes first, calls `pick`; without a head, the visitor hung up.
 * ```
 *
 * A hold also ends as the response or its socket is destroyed. So what a handler has written leaves
 * in any case, as it would have without a hold.
 */
import type { Request, Response } from "express";
import { clearImmediate, setImmediateInContext } from "../shared/real-timers.js";
import { seeHead } from "./response-head.js";

export interface HeadSeen {
  /** Before a head is written: the status so far. */
  readonly status: number;
  /** `false`: the visitor hung up before. */
  readonly written: boolean;
}

/** Sees the head of this response, whichever handler writes it, and its end. */
export function watchResponse(req: Request, res: Response) {
  const { socket } = req;
  const forHead: ((head: HeadSeen) => void)[] = [];
  const forEnd: ((head: HeadSeen) => void)[] = [];
  // A middleware above may have answered.
  let head: HeadSeen | undefined = res.headersSent ? { status: res.statusCode, written: true } : undefined;
  let isOver = Boolean(res.writableFinished || res.closed || socket?.destroyed);

  function proceed(): void {
    // A visitor who is gone gets nothing that is written later. The handler may still set a status.
    if (!isOver && res.headersSent) head ??= { status: res.statusCode, written: true };
    const seen = head ?? (isOver ? { status: res.statusCode, written: false } : undefined);
    if (!seen) return;
    for (const act of forHead.splice(0)) act(seen);
    if (isOver) for (const act of forEnd.splice(0)) act(seen);
  }

  function end(): void {
    proceed();
    isOver = true;
    proceed();
  }

  if (!isOver) {
    seeHead(res, proceed);
    // The responses of serverless adapters emit no `close`, and do not show afterwards that they ended.
    res.once("finish", end).once("close", end);
    // Node emits no `close` on a response that waits behind another one of the same connection.
    if (res.socket === null && typeof socket?.once === "function") {
      // Node warns of more than ten listeners, and any number of requests may wait.
      socket.setMaxListeners(0).once("close", end);
      res.once("close", () => socket.off("close", end));
    }
  }

  return {
    /** Calls `act` once, now or later: before the first byte, or when the visitor hangs up. */
    whenKnown(act: (head: HeadSeen) => void): void {
      forHead.push(act);
      proceed();
    },
    /** Calls `act` once, now or later: the response has gone out, or the visitor has hung up. */
    whenOver(act: (head: HeadSeen) => void): void {
      forEnd.push(act);
      proceed();
    },
  };
}

/**
 * Keeps what this response writes until the returned function is called, or this turn of the event
 * loop and its microtasks are over. `res.json()` writes to the socket at once, and the handler
 * returns its payment a moment later: in between, the process could die with a payment that the
 * visitor has seen go through.
 *
 * It is the socket that is corked, and its `uncork` waits, because Node's `res.end()` calls it. To
 * hold `res.end()` is not enough: `res.write()` sends too, and the handler would see the response
 * unfinished.
 */
export function holdBytes(req: Request, res: Response): () => void {
  // A response behind another one of its connection has no socket yet.
  const socket = res.socket ?? req.socket;
  let uncorks = 1;
  const shadows: PropertyDescriptorMap = {
    uncork: {
      value: () => {
        uncorks++;
      },
    },
    // Without the hold's own: a response on Node 26 puts a turn's writes into one chunk unless its
    // socket is corked.
    writableCorked: {
      get: () => Reflect.get(Object.getPrototypeOf(socket), "writableCorked", socket) - uncorks,
    },
    // To destroy the response is to destroy its socket.
    destroy: {
      value(error?: Error) {
        release();
        // Node may have corked it, too, for a tick: it has found it corked, and sent nothing before.
        while (socket.writableCorked > 0) socket.uncork();
        return socket.destroy(error);
      },
    },
  };
  const names = Object.keys(shadows);
  // HTTP/2 writes at the end of the turn anyway. Serverless adapters have no socket. Another
  // response of this connection may hold the socket until the end of this turn.
  const cannotHold =
    req.httpVersionMajor > 1 ||
    typeof socket?.cork !== "function" ||
    names.some((name) => Object.hasOwn(socket, name));
  if (cannotHold) return () => {};

  socket.cork();
  for (const name of names) Object.defineProperty(socket, name, { ...shadows[name], configurable: true });
  const endOfTurn = setImmediateInContext(release);

  function release(): void {
    if (uncorks === 0) return;
    clearImmediate(endOfTurn);
    for (const name of names) Reflect.deleteProperty(socket, name);
    for (; uncorks > 0; uncorks--) socket.uncork();
  }

  return release;
}
