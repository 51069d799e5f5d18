import type { Request, Response } from "express";
import { clearImmediate, setImmediateInContext } from "../shared/real-timers.js";

/**
 * Keeps what this response writes from leaving until the returned function is called, at most until this turn of the event loop is
 * over: its microtasks have run then. `res.json()` writes to the socket at once, and the handler returns its payment a moment later;
 * in between, the process could die with a payment that the visitor has seen go through.
 *
 * To hold `res.end()` is not enough: `res.write()` sends, too, and the response would look unfinished to the handler. So the socket is
 * corked, and its `uncork` waits: Node's own `res.end()` calls it.
 */
export function holdBytes(req: Request, res: Response): () => void {
  // A response that waits behind another one of its connection has no socket yet.
  const socket = res.socket ?? req.socket;
  // HTTP/2 writes at the end of the turn anyway. Adapters of serverless platforms have no socket. Another response of this connection
  // may hold it already, until the end of the same turn.
  const cannotHold =
    req.httpVersionMajor > 1 || typeof socket?.cork !== "function" || Object.hasOwn(socket, "uncork");
  if (cannotHold) return () => {};

  const { uncork } = socket;
  let owed = 1;
  socket.cork();
  socket.uncork = function heldUncork() {
    owed++;
  };
  const endOfTurn = setImmediateInContext(release);

  function release(): void {
    if (owed === 0) return;
    clearImmediate(endOfTurn);
    Reflect.deleteProperty(socket, "uncork");
    for (; owed > 0; owed--) uncork.call(socket);
  }

  return release;
}
