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

/**
 * Returns a function that calls `act` once the response has gone out or the visitor has hung up; at
 * once if that is so. Watches from the start: an adapter's response does not show it afterwards.
 */
export function watchEnd(req: Request, res: Response): (act: () => void) => void {
  const waiting: (() => void)[] = [];
  let isOver = Boolean(res.writableFinished || res.closed || req.socket?.destroyed);
  function end(): void {
    isOver = true;
    for (const act of waiting.splice(0)) act();
  }
  if (!isOver) {
    // The responses of serverless adapters emit no `close`.
    res.once("finish", end);
    res.once("close", end);
    // Node emits no `close` on a response that waits behind another one of the same connection.
    if (res.socket === null) whenSocketCloses(req, res, end);
  }
  return (act) => {
    if (isOver) act();
    else waiting.push(act);
  };
}

/** Sees the head of this response, whichever handler writes it. */
export function watchHead(res: Response, whenOver: ReturnType<typeof watchEnd>) {
  const waiting: ((head: HeadSeen) => void)[] = [];
  let head: HeadSeen | undefined;
  let isOver = false;

  function look(): HeadSeen | undefined {
    if (res.headersSent) head ??= { status: res.statusCode, written: true };
    // The handler of a visitor who is gone may still set a status.
    return head ?? (isOver ? { status: res.statusCode, written: false } : undefined);
  }

  function notify(): void {
    const seen = look();
    if (seen) for (const act of waiting.splice(0)) act(seen);
  }

  if (!look()) {
    seeHead(res, notify);
    whenOver(() => {
      isOver = true;
      notify();
    });
  }

  return {
    /** Calls `act` once, now or later: before the first byte, or when the visitor hangs up. */
    whenKnown(act: (head: HeadSeen) => void): void {
      waiting.push(act);
      notify();
    },
  };
}

const waitingFor = new WeakMap<object, Set<() => void>>();

/** One listener on a socket, however many requests wait: Node warns of more than ten. */
function whenSocketCloses({ socket }: Request, res: Response, act: () => void): void {
  if (typeof socket?.once !== "function") return;
  let waiting = waitingFor.get(socket);
  if (!waiting) {
    waiting = new Set();
    waitingFor.set(socket, waiting);
    const all = waiting;
    socket.once("close", () => {
      for (const closed of all) closed();
    });
  }
  waiting.add(act);
  res.once("close", () => waiting.delete(act));
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
  // HTTP/2 writes at the end of the turn anyway. Serverless adapters have no socket. Another
  // response of this connection may hold the socket until the end of this turn.
  const cannotHold =
    req.httpVersionMajor > 1 || typeof socket?.cork !== "function" || Object.hasOwn(socket, "uncork");
  if (cannotHold) return () => {};

  const { uncork, destroy } = socket;
  let uncorks = 1;
  socket.cork();
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
        while (socket.writableCorked > 0) uncork.call(socket);
        return destroy.call(socket, error);
      },
    },
  };
  // A tool that traces sockets may have replaced some, too.
  const before = Object.keys(shadows).map(
    (name) => [name, Object.getOwnPropertyDescriptor(socket, name)] as const,
  );
  for (const [name, shadow] of Object.entries(shadows)) {
    Object.defineProperty(socket, name, { ...shadow, configurable: true });
  }
  const endOfTurn = setImmediateInContext(release);

  function release(): void {
    if (uncorks === 0) return;
    clearImmediate(endOfTurn);
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(socket, name, descriptor);
      else Reflect.deleteProperty(socket, name);
    }
    for (; uncorks > 0; uncorks--) uncork.call(socket);
  }

  return release;
}
