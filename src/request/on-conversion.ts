import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { ConversionKind } from "../conversion/events.js";
import { methodsOf } from "../conversion/kinds.js";
import { AffiliateError, OptionsError } from "../shared/errors.js";
import { shown } from "../shared/printable.js";
import { type Head, watchHead, whenClosed } from "./response-head.js";
import { holdBytes } from "./response-hold.js";
import { passesUncalled } from "./uncalled.js";
import { createUnreported, routeOf, type Why } from "./unreported.js";
import { affiliateOf, type RequestContext } from "./visitor.js";
import type { WrapHandler } from "./wrap-handler.js";

type AnyHandler = (req: Request, res: Response, next: NextFunction) => unknown;
type AnyPick = (req: Request, res: Response) => unknown;

/** Of all trackers' wrappers. */
const kindOfWrapper = new WeakMap<object, ConversionKind>();

export function createWrapper<Happened>(
  kind: ConversionKind,
  context: RequestContext,
): WrapHandler<Happened> {
  const unreported = createUnreported(kind, context.journal);

  function wrap(handler: AnyHandler, pick?: AnyPick, ...rest: unknown[]): RequestHandler | undefined {
    const name = `tracker.${methodsOf(kind).wrap}`;
    const warn = (line: string) => context.journal.once("warn", name, line);
    const isUncalled = passesUncalled([handler, pick, ...rest], { name, written: `${name}(handler)`, warn });
    if (isUncalled) return undefined;
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
        // Express destroys the connection of a response that has begun, and with it what is held.
        if (went === "wrong") release();
        next(error);
      }

      function settle(happened: unknown, { status, written }: Head, isLate: boolean): unknown {
        if (happened === undefined || happened === null || happened === res) {
          if (!written) return undefined;
          if (went) return reportNothing(status, "next");
          return reportNothing(status, happened === res ? "response" : isLate ? "late" : "nothing");
        }
        if (status >= 400) return hintAt(`its response's status is ${status}`);
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
      // Before the handler runs, to see an early close. The client gets nothing that is written later.
      const closed = new Promise<Head>((resolve) =>
        whenClosed(req, res, () => resolve({ status: res.statusCode, written: res.headersSent })),
      );
      visitor.addPendingWork(async () => {
        const { status, written } = await closed;
        if (!written) return hintAt("its visitor hung up before it answered");
        if (status >= 400) return hintAt(`its response's status is ${status}`);
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
      report: (happened: unknown) => visitor.report(kind, happened, undefined, attribution),
      reportNothing(status: number, why: Why): void {
        if (status >= 400) return;
        // The handler may call `req.affiliate.trackPayment` after it has answered.
        whenClosed(req, res, () => {
          if (!visitor.hasReported(kind)) unreported(route, status, why);
        });
      },
    };
  }

  function hintAt(because: string): void {
    context.journal.hint(`${kind} ${because}`, `a wrapped handler reports no ${kind}: ${because}`);
  }

  return wrap as WrapHandler<Happened>;
}

// A value that is no function, such as a missing export of a module, would fail with each visitor.
function checkFunction(kind: ConversionKind, what: string, given: unknown): void {
  if (typeof given === "function") return;
  throw new OptionsError(methodsOf(kind).wrap, [`its ${what} must be a function, got ${shown(given)}`]);
}

function wrappedTwice(kind: ConversionKind, kindInside: ConversionKind): OptionsError {
  const { wrap: name } = methodsOf(kind);
  const inside = methodsOf(kindInside);
  return new OptionsError(name, [
    `its handler is wrapped by \`${inside.wrap}\`, and hands on nothing that it returns. Wrap the handler itself, in \`${name}\` ` +
      `alone, and call \`req.affiliate.${inside.track}(…)\` in it`,
  ]);
}

/** Whether `next` takes it for an error. */
function isError(given: unknown): boolean {
  return Boolean(given) && given !== "route" && given !== "router";
}

/** Express takes some reasons for no errors: the handler must not seem to have gone on. */
function failureFrom(kind: ConversionKind, reason: unknown): unknown {
  if (isError(reason)) return reason;
  return new AffiliateError(
    "ERR_AFFILIATE_HANDLER",
    `${methodsOf(kind).wrap}: its handler failed with ${shown(reason)}, which Express takes for no error. Throw an \`Error\``,
    { cause: reason },
  );
}

/** Makes a throw a rejection: Express 4 gives `next` neither rejections nor late throws. */
async function runHandler(
  handler: AnyHandler,
  req: Request,
  res: Response,
  next: NextFunction,
): Promise<unknown> {
  return handler(req, res, next);
}
