import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { EventKind } from "../events.js";
import { AffiliateError, OptionsError } from "../shared/errors.js";
import { shown } from "../shared/printable.js";
import { type Head, watchHead, whenClosed } from "./response-head.js";
import { holdBytes } from "./response-hold.js";
import { passesUncalled, uncalledLine } from "./uncalled.js";
import { createUnreported, routeOf, type Why } from "./unreported.js";
import { affiliateOf, type RequestContext } from "./visitor.js";
import type { WrapHandler } from "./wrap-handler.js";

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

  function wrap(handler: AnyHandler, pick?: AnyPick, ...rest: unknown[]): RequestHandler | undefined {
    const name = `tracker.${NAMES[kind][0]}`;
    const tell = () => context.journal.once("warn", name, uncalledLine(name, `${name}(handler)`));
    if (passesUncalled([handler, pick, ...rest], tell)) return undefined;
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
      let isResolved = false;
      let release = () => {};
      whenKnown(({ status, written }) => {
        if (written && status < 400 && !isResolved) release = holdBytes(req, res);
      });

      function onward(error?: unknown): void {
        went = isError(error) ? "wrong" : "on";
        // Express destroys the connection of a response that has begun, and what is held with it.
        if (went === "wrong") release();
        next(error);
      }

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
              isResolved = true;
              let isLate = false;
              // Not in a promise's callback: the event is stored before the head leaves.
              whenKnown((head) => resolve(settle(happened, head, isLate)));
              isLate = true;
              release();
            }),
          (reason) => {
            isResolved = true;
            onward(failureFrom(kind, reason));
          },
        ),
      );
    };
  }

  function reportingPicked(handler: AnyHandler, pick: AnyPick): RequestHandler {
    return function affiliateConversion(req, res, next) {
      const { visitor, report, reportNothing } = begin(req, res, handler);
      // Attached before the handler runs, so that an early close is not missed.
      // What is written after it counts no more: nobody gets it.
      const closed = new Promise<Head>((resolve) =>
        whenClosed(req, res, () => resolve({ status: res.statusCode, written: res.headersSent })),
      );
      visitor.addPendingWork(async () => {
        const { status, written } = await closed;
        if (!written) return hintAt("its visitor hung up before it answered");
        if (status >= 400) return answeredWith(status);
        try {
          const happened = await pick(req, res);
          if (happened === undefined || happened === null) reportNothing(status, "pick");
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
