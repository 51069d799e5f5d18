import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { EventKind } from "../events.js";
import { AffiliateError, OptionsError } from "../shared/errors.js";
import { shown } from "../shared/printable.js";
import { type Head, watchHead, whenClosed } from "./response-head.js";
import { createUnreported, routeOf, type Why } from "./unreported.js";
import { type Attributed, affiliateOf, type RequestContext } from "./visitor.js";

type Params = Request["params"];
type Query = Request["query"];
// biome-ignore lint/suspicious/noExplicitAny: Express' own default for what it does not know; a narrower one would refuse hosts' handlers.
type Unknown = any;
type AnyLocals = Record<string, Unknown>;

/** What happened; `undefined` or `null` where nothing did. */
// biome-ignore lint/suspicious/noConfusingVoidType: handlers that sometimes return nothing are what this is for.
type Perhaps<Happened> = Happened | null | undefined | void;
type Awaitable<T> = T | Promise<T>;

/**
 * Wraps a route's handler and reports the registration or payment that it returns, in the background (§4.2, §4.3, §4.4). What the
 * handler throws goes to `next(error)`, on Express 4 too, and then nothing is reported.
 */
export interface WrapHandler<Happened> {
  /**
   * Reports what the handler's promise resolves with, if the response's head says a status below 400, whoever writes the head. If
   * the visitor hangs up before any head, the status so far decides. Compute what you return before you respond. To return the
   * response, as in `return res.status(400).end()`, is to return nothing.
   *
   * @throws OptionsError where the handler is no function, or is wrapped already: a wrapped handler hands on nothing that it returns.
   */
  <P = Params, ResBody = Unknown, ReqBody = Unknown, ReqQuery = Query, Locals extends AnyLocals = AnyLocals>(
    handler: (
      req: Attributed<Request<P, ResBody, ReqBody, ReqQuery, Locals>>,
      res: Response<ResBody, Locals>,
      next: NextFunction,
    ) => Awaitable<Perhaps<Happened> | Response<ResBody, Locals>>,
  ): RequestHandler<P, ResBody, ReqBody, ReqQuery, Locals>;
  /**
   * For a handler that you cannot change: reports what `pick` returns. `pick` is called once a response below 400 has gone out.
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

type AnyHandler = (req: Request, res: Response, next: NextFunction) => unknown;
type AnyPick = (req: Request, res: Response) => unknown;

const NAMES = {
  registration: ["onRegistration", "trackRegistration"],
  payment: ["onPayment", "trackPayment"],
} as const;

/** The handlers that wrappers have made, whichever tracker's. */
const kindOfWrapper = new WeakMap<object, keyof typeof NAMES>();

/** `onRegistration` and `onPayment`. */
export function createWrapper<Happened>(
  kind: Exclude<EventKind, "click">,
  context: RequestContext,
): WrapHandler<Happened> {
  const unreported = createUnreported(kind, context.journal);

  function wrap(handler: AnyHandler, pick?: AnyPick): RequestHandler {
    checkFunction(kind, "handler", handler);
    if (pick) checkFunction(kind, "`pick`", pick);
    const kindInside = kindOfWrapper.get(handler);
    if (kindInside && !pick) throw wrappedTwice(kind, kindInside);
    const wrapper = pick ? reportingPicked(handler, pick) : reportingReturned(handler);
    kindOfWrapper.set(wrapper, kind);
    return wrapper;
  }

  function reportingReturned(handler: AnyHandler): RequestHandler {
    return function affiliateConversion(req, res, next) {
      const { visitor, report, reportNothing } = begin(req, res, handler);
      const { whenKnown } = watchHead(req, res);
      let went: "on" | "wrong" | undefined;
      const onward = (error?: unknown) => {
        went = isError(error) ? "wrong" : "on";
        next(error);
      };

      function settle(happened: unknown, { status, written }: Head, isLate: boolean): unknown {
        if (happened === undefined || happened === null || happened === res) {
          if (!written) return undefined;
          if (went) return reportNothing(status, "next");
          return reportNothing(status, happened === res ? "response" : isLate ? "late" : "nothing");
        }
        if (status >= 400) return answeredWith(status);
        // The visitor hung up before the error handler could set a status.
        if (went === "wrong" && !written) return undefined;
        return report(happened);
      }

      visitor.addPendingWork(() =>
        runHandler(handler, req, res, onward).then(
          (happened) =>
            new Promise((resolve) => {
              let isLate = false;
              // Not in a promise's callback: the event is stored before the head leaves.
              whenKnown((head) => resolve(settle(happened, head, isLate)));
              isLate = true;
            }),
          (reason) => next(failureFrom(kind, reason)),
        ),
      );
    };
  }

  function reportingPicked(handler: AnyHandler, pick: AnyPick): RequestHandler {
    return function affiliateConversion(req, res, next) {
      const { visitor, report, reportNothing } = begin(req, res, handler);
      // Attached before the handler runs, so that an early close is not missed.
      const closed = new Promise<void>((resolve) => whenClosed(req, res, resolve));
      visitor.addPendingWork(async () => {
        await closed;
        const { headersSent, statusCode } = res;
        if (!headersSent) return hintAt("its visitor hung up before it answered");
        if (statusCode >= 400) return answeredWith(statusCode);
        try {
          const happened = await pick(req, res);
          if (happened === undefined || happened === null) reportNothing(statusCode, "pick");
          else await report(happened);
        } catch (error) {
          context.journal.dropped(kind, "pick", { message: `its \`pick\` threw: ${error}` });
        }
      });
      runHandler(handler, req, res, next).catch((reason) => next(failureFrom(kind, reason)));
    };
  }

  function begin(req: Request, res: Response, handler: AnyHandler) {
    const visitor = affiliateOf(req, context);
    // Taken before the handler runs: it may regenerate the session.
    const attribution = visitor.snapshot();
    const route = routeOf(req, handler);
    return {
      visitor,
      report: (happened: unknown) => visitor.report(kind, happened, attribution),
      reportNothing(status: number, why: Why): void {
        if (status >= 400) return;
        // The handler may call `req.affiliate.trackPayment` after it has answered.
        whenClosed(req, res, () => {
          if (!visitor.hasReported(kind)) unreported(route, status, why);
        });
      },
    };
  }

  function answeredWith(status: number): void {
    hintAt(`its response's status is ${status}`);
  }

  function hintAt(because: string): void {
    context.journal.hint(`${kind} ${because}`, `a wrapped handler reports no ${kind}: ${because}`);
  }

  return wrap as WrapHandler<Happened>;
}

// What is no function, as what a module does not export, would fail with each visitor.
function checkFunction(kind: keyof typeof NAMES, what: string, given: unknown): void {
  if (typeof given === "function") return;
  throw new OptionsError(NAMES[kind][0], [`its ${what} must be a function, got ${shown(given)}`]);
}

function wrappedTwice(kind: keyof typeof NAMES, kindInside: keyof typeof NAMES): OptionsError {
  const [name] = NAMES[kind];
  const [nameInside, track] = NAMES[kindInside];
  return new OptionsError(name, [
    `its handler is wrapped by \`${nameInside}\`, and hands on nothing that it returns. Wrap the handler itself, in \`${name}\` ` +
      `alone, and call \`req.affiliate.${track}(…)\` in it`,
  ]);
}

/** Whether `next` takes it for an error. */
function isError(given: unknown): boolean {
  return Boolean(given) && given !== "route" && given !== "router";
}

/** A handler that failed must not look like one that went on: Express takes these reasons for no errors. */
function failureFrom(kind: keyof typeof NAMES, reason: unknown): unknown {
  if (isError(reason)) return reason;
  return new AffiliateError(
    "ERR_AFFILIATE_HANDLER",
    `${NAMES[kind][0]}: its handler failed with ${shown(reason)}, which Express takes for no error. Throw an \`Error\``,
    { cause: reason },
  );
}

/** A throw becomes a rejection: Express 4 hands neither a rejected promise nor a late throw to `next`. */
async function runHandler(
  handler: AnyHandler,
  req: Request,
  res: Response,
  next: NextFunction,
): Promise<unknown> {
  return handler(req, res, next);
}
