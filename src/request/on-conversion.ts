import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { ConversionKind } from "../conversion/events.js";
import { methodsOf } from "../conversion/kinds.js";
import { AffiliateError, OptionsError } from "../shared/errors.js";
import { harmless } from "../shared/harmless.js";
import { shown } from "../shared/printable.js";
import { type HeadSeen, holdBytes, watchEnd, watchHead } from "./handled-response.js";
import { createUnreported, getAffiliate, passesUncalled, routeOf, type Why } from "./host-mistakes.js";
import { affiliateOf, type RequestContext } from "./visitor.js";
import type { WrapHandler } from "./wrap-handler.js";

type AnyHandler = (req: Request, res: Response, next: NextFunction) => unknown;
type AnyPick = (req: Request, res: Response) => unknown;
/** Settles as the handler does. */
type Reporting = (...args: Parameters<RequestHandler>) => Promise<unknown>;

/** The methods of a response that show its head and its end. */
const NEEDED = ["once", "writeHead"] as const;

/** What each wrapper of any tracker reports. */
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
    const reporting = pick ? reportingPicked(handler, pick) : reportingReturned(handler);
    const wrapper: RequestHandler = function affiliateConversion(req, res, next) {
      const missing = NEEDED.filter((method) => typeof res?.[method] !== "function");
      if (missing.length === 0) {
        // Unit tests and Next.js call it without `next`, and await it.
        const isAwaited = typeof next !== "function";
        let passed: unknown;
        const keep: NextFunction = (error?: unknown) => {
          passed ??= error;
        };
        const handled = reporting(req, res, isAwaited ? keep : next);
        return handled.then(
          () => {
            if (isError(passed)) throw passed;
          },
          (error) => {
            if (isAwaited) throw error;
          },
        );
      }
      warn(
        `\`${name}\` got a response without \`${missing.join("` and `")}\`, as a unit test makes one by hand: its handler ran, and ` +
          "nothing is reported. To see a report, send a request to the app",
      );
      // Its handler may read `req.affiliate`.
      if (req && !getAffiliate(req)) harmless(() => affiliateOf(req, context));
      return handler(req, res, next);
    };
    kindOfWrapper.set(wrapper, kind);
    return wrapper;
  }

  function reportingReturned(handler: AnyHandler): Reporting {
    return function reportReturned(req, res, next) {
      const { visitor, whenOver, report, reportNothing } = begin(req, res, handler);
      const { whenKnown } = watchHead(res, whenOver);
      let went: "on" | "wrong" | undefined;
      let isResolved = false;
      let release = () => {};
      whenKnown(({ status, written }) => {
        if (written && status < 400 && !isResolved && !went && context.holds()) {
          release = holdBytes(req, res);
        }
      });

      function onward(error?: unknown): void {
        went = isError(error) ? "wrong" : "on";
        // Another handler may answer and destroy the connection: nothing of it is held.
        release();
        next(error);
      }

      function settle(happened: unknown, { status, written }: HeadSeen, isLate: boolean): unknown {
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

      function resolved(happened: unknown): Promise<unknown> {
        return new Promise((resolve) => {
          isResolved = true;
          let isLate = false;
          // Not in a promise's callback: the event is stored before the head leaves.
          whenKnown((head) => resolve(settle(happened, head, isLate)));
          isLate = true;
          release();
        });
      }

      function rejected(reason: unknown): unknown {
        isResolved = true;
        onward(failureFrom(kind, reason));
        return went === "on" ? resolved(undefined) : undefined;
      }

      let handled!: Promise<unknown>;
      visitor.addPendingWork(() => {
        handled = runHandler(handler, req, res, onward);
        return handled.then(resolved, rejected);
      });
      return handled;
    };
  }

  function reportingPicked(handler: AnyHandler, pick: AnyPick): Reporting {
    return function reportPicked(req, res, next) {
      const { visitor, whenOver, report, reportNothing } = begin(req, res, handler);
      // Looked at when it is over: the client gets nothing that is written later.
      const over = new Promise<HeadSeen>((resolve) =>
        whenOver(() => resolve({ status: res.statusCode, written: res.headersSent })),
      );
      visitor.addPendingWork(async () => {
        const { status, written } = await over;
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
      const handled = runHandler(handler, req, res, next);
      handled.catch((reason) => next(failureFrom(kind, reason)));
      return handled;
    };
  }

  function begin(req: Request, res: Response, handler: AnyHandler) {
    const visitor = affiliateOf(req, context);
    // Taken before the handler runs: it may regenerate the session.
    const attribution = visitor.snapshot();
    const route = routeOf(req, handler);
    const whenOver = watchEnd(req, res);
    return {
      visitor,
      whenOver,
      report: (happened: unknown) => visitor.report(kind, happened, undefined, attribution),
      reportNothing(status: number, why: Why): void {
        if (status >= 400) return;
        // The handler may call `req.affiliate.trackPayment` after it has answered.
        whenOver(() => {
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

/** As in Express 5, a rejection with nothing must not seem to go on. One with `"route"` goes on. */
function failureFrom(kind: ConversionKind, reason: unknown): unknown {
  if (reason) return reason;
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
