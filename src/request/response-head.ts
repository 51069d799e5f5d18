import type { Request, Response } from "express";

/** How a response answered its visitor. */
export interface Head {
  /** The status of the head; if the visitor hung up before it was written, the status so far. */
  readonly status: number;
  /** Whether the head was written. `false`: the visitor hung up before. */
  readonly written: boolean;
}

/** Waits for the head of one response. */
export interface HeadWatch {
  /**
   * Calls `act` once: when the head is written, before its first byte leaves, or when the visitor hangs up before. Calls it at once if
   * one of them has happened.
   */
  whenKnown(act: (head: Head) => void): void;
}

/** Watches who writes the head of this response: this handler, a later one, or an error handler. */
export function watchHead(req: Request, res: Response): HeadWatch {
  const waiting: ((head: Head) => void)[] = [];
  let written = res.headersSent ? { status: res.statusCode, written: true } : undefined;
  let isClosed = false;

  function tell(head: Head): void {
    for (const act of waiting.splice(0)) act(head);
  }
  // The handler of a visitor who is gone may still set a status.
  const unwritten = () => ({ status: res.statusCode, written: false });

  if (!written) {
    const { writeHead } = res;
    // Every way to write a head calls this method. The methods of middleware that is mounted before may change the status in it.
    res.writeHead = function affiliateWriteHead(...args: unknown[]) {
      const result = Reflect.apply(writeHead, this, args);
      written ??= { status: res.statusCode, written: true };
      tell(written);
      return result;
    };
    whenClosed(req, res, () => {
      isClosed = true;
      tell(written ?? unwritten());
    });
  }

  return {
    whenKnown(act) {
      if (written) act(written);
      else if (isClosed) act(unwritten());
      else waiting.push(act);
    },
  };
}

/** Calls `act` when the response has gone out, or its visitor has hung up; now if that was before. */
export function whenClosed(req: Request, res: Response, act: () => void): void {
  if (res.closed || req.socket?.destroyed) {
    act();
    return;
  }
  res.once("close", act);
  // Node emits no `close` on a response that waits behind another one of the same connection.
  if (res.socket === null) whenSocketCloses(req, res, act);
}

const waitingFor = new WeakMap<object, Set<() => void>>();

/** One listener on each socket, however many of its requests wait: Node warns of more than ten. */
function whenSocketCloses({ socket }: Request, res: Response, act: () => void): void {
  let waiting = waitingFor.get(socket);
  if (!waiting) {
    waiting = new Set();
    waitingFor.set(socket, waiting);
    const all = waiting;
    socket.once("close", () => {
      for (const each of all) each();
    });
  }
  waiting.add(act);
  res.once("close", () => waiting.delete(act));
}
