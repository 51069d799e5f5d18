import type { Request, Response } from "express";
import { clearImmediate, setImmediateInContext } from "../shared/real-timers.js";

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

  const { uncork } = socket;
  let uncorks = 1;
  socket.cork();
  socket.uncork = function heldUncork() {
    uncorks++;
  };
  const endOfTurn = setImmediateInContext(release);

  function release(): void {
    if (uncorks === 0) return;
    clearImmediate(endOfTurn);
    Reflect.deleteProperty(socket, "uncork");
    for (; uncorks > 0; uncorks--) uncork.call(socket);
  }

  return release;
}
