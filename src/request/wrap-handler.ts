import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { Attributed } from "./request-affiliate.js";

type Params = Request["params"];
type Query = Request["query"];
// biome-ignore lint/suspicious/noExplicitAny: Express' own default for what it does not know; a narrower one would refuse hosts' handlers.
type Unknown = any;
type AnyLocals = Record<string, Unknown>;

/** What happened; `undefined` or `null` if nothing did. */
// biome-ignore lint/suspicious/noConfusingVoidType: handlers that sometimes return nothing are what this is for.
type Perhaps<Happened> = Happened | null | undefined | void;
type Awaitable<T> = T | Promise<T>;

/**
 * Wraps a route's handler and reports the registration or payment that it returns, in the
 * background (§4.2, §4.3, §4.4). What it throws goes to `next(error)`, on Express 4 too, and
 * nothing is reported.
 */
export interface WrapHandler<Happened> {
  /**
   * Reports what the handler's promise resolves with, if the response's status is below 400. Another
   * handler may write the head. If the visitor hangs up before that, the status set so far decides.
   *
   * Compute what you return before you respond: if the handler returns it in the same turn of the
   * event loop, the first byte leaves after the event is in the outbox. To return the response, as
   * in `return res.status(400).end()`, is to return nothing.
   *
   * @throws OptionsError if the handler is no function, or is wrapped already.
   */
  <P = Params, ResBody = Unknown, ReqBody = Unknown, ReqQuery = Query, Locals extends AnyLocals = AnyLocals>(
    handler: (
      req: Attributed<Request<P, ResBody, ReqBody, ReqQuery, Locals>>,
      res: Response<ResBody, Locals>,
      next: NextFunction,
    ) => Awaitable<Perhaps<Happened> | Response<ResBody, Locals>>,
  ): RequestHandler<P, ResBody, ReqBody, ReqQuery, Locals>;
  /**
   * For a handler that you cannot change: reports what `pick` returns, which is called once a
   * response below 400 has gone out.
   *
   * @example
   * ```js
   * app.post(
   *   "/checkout/complete",
   *   tracker.onPayment(completeCheckout, (req, res) => ({
   *     paymentId: res.locals.order.id,
   *     customerEmail: res.locals.order.email,
   *     leadValue: res.locals.order.total,
   *   })),
   * );
   * ```
   */
  <P = Params, ResBody = Unknown, ReqBody = Unknown, ReqQuery = Query, Locals extends AnyLocals = AnyLocals>(
    handler: (
      req: Attributed<Request<P, ResBody, ReqBody, ReqQuery, Locals>>,
      res: Response<ResBody, Locals>,
      next: NextFunction,
    ) => unknown,
    pick: (
      req: Attributed<Request<P, ResBody, ReqBody, ReqQuery, Locals>>,
      res: Response<ResBody, Locals>,
    ) => Awaitable<Perhaps<Happened>>,
  ): RequestHandler<P, ResBody, ReqBody, ReqQuery, Locals>;
}
