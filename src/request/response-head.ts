import type { Request, Response } from "express";

export interface Head {
  /** Before a head is written: the status so far. */
  readonly status: number;
  /** `false`: the visitor hung up before. */
  readonly written: boolean;
}

/** Sees the head of this response, whichever handler writes it. */
export function watchHead(req: Request, res: Response) {
  const waiting: ((head: Head) => void)[] = [];
  let written = res.headersSent ? { status: res.statusCode, written: true } : undefined;
  let isClosed = false;

  function notify(head: Head): void {
    for (const act of waiting.splice(0)) act(head);
  }
  // The handler of a visitor who is gone may still set a status.
  const unwritten = () => ({ status: res.statusCode, written: false });

  if (!written) {
    const { writeHead } = res;
    // Every way to write a head calls this method. Earlier middleware may have replaced it, and may
    // change the status.
    res.writeHead = function affiliateWriteHead(...args: unknown[]) {
      const result = Reflect.apply(writeHead, this, args);
      written ??= { status: res.statusCode, written: true };
      notify(written);
      return result;
    };
    whenClosed(req, res, () => {
      isClosed = true;
      notify(written ?? unwritten());
    });
  }

  return {
    /** Calls `act` once, now or later: before the first byte, or when the visitor hangs up. */
    whenKnown(act: (head: Head) => void): void {
      if (written) act(written);
      else if (isClosed) act(unwritten());
      else waiting.push(act);
    },
  };
}

/** Calls `act`, now or later, when the response has gone out or its visitor has hung up. */
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

/** One listener on a socket, however many requests wait: Node warns of more than ten. */
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
