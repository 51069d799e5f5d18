import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { ConversionKind } from "../conversion/events.js";
import { methodsOf } from "../conversion/kinds.js";
import { AffiliateError, OptionsError } from "../shared/errors.js";
import { harmless } from "../shared/harmless.js";
import { shown } from "../shared/printable.js";
import { type HeadSeen, holdBytes, watchResponse } from "./handled-response.js";
import { createUnreported, routeOf, type Why } from "./host-mistakes.js";
import { affiliateOf, type RequestContext } from "./visitor.js";

type AnyHandler = (req: Request, res: Response, next: NextFunction) => unknown;
type AnyPick = (req: Request, res: Response) => unknown;

/** What each wrapper of any tracker reports. */
const kindOfWrapper = new WeakMap<object, ConversionKind>();

/** `onRegistration` or `onPayment`: a `WrapHandler`, whose types say more. */
export function createWrapper(kind: ConversionKind, context: RequestContext) {
  const name = `tracker.${methodsOf(kind).wrap}`;
  const unreported = createUnreported(kind, context.journal);

  return function wrap(handler: AnyHandler, pick?: AnyPick): RequestHandler {
    checkFunction(kind, "handler", handler);
    if (pick) checkFunction(kind, "`pick`", pick);
    const kindInside = kindOfWrapper.get(handler);
    if (kindInside && !pick) throw wrappedTwice(kind, kindInside);
    const wrapper: RequestHandler = function affiliateConversion(req, res, next) {
      if (typeof res?.once !== "function" || typeof res.writeHead !== "function") {
        context.journal.once(
          name,
          `\`${name}\` got a response without \`once\` or \`writeHead\`, as a unit test makes one by hand: its handler ran, and ` +
            "nothing is reported. To see a report, send a request to the app",
        );
        // Its handler may read `req.affiliate`.
        if (req && !Object.hasOwn(req, "affiliate")) harmless(() => affiliateOf(req, context));
        return handler(req, res, next);
      }
      if (typeof next === "function") return run(handler, pick, [req, res, next]).catch(() => {});
      // Unit tests and Next.js call it without `next`, and await it.
      let passed: unknown;
      const keep: NextFunction = (error?: unknown) => {
        passed ??= error;
      };
      return run(handler, pick, [req, res, keep]).then(() => {
        if (isError(passed)) throw passed;
      });
    };
    kindOfWrapper.set(wrapper, kind);
    return wrapper;
  };

  /** Settles as the handler does. */
  function run(
    handler: AnyHandler,
    pick: AnyPick | undefined,
    [req, res, next]: Parameters<RequestHandler>,
  ): Promise<unknown> {
    const visitor = affiliateOf(req, context);
    // Taken before the handler runs: it may regenerate the session.
    const attribution = visitor.snapshot();
    const route = routeOf(req, handler);
    const { whenKnown, whenOver } = watchResponse(req, res);
    let went: "on" | "wrong" | undefined;
    let isResolved = false;
    let release = () => {};

    function onward(error?: unknown): void {
      went = isError(error) ? "wrong" : "on";
      // Another handler may answer and destroy the connection: nothing of it is held.
      release();
      next(error);
    }

    function settle(happened: unknown, { status, written }: HeadSeen, why: Why): unknown {
      if (happened === undefined || happened === null || happened === res) {
        if (!written || status >= 400) return undefined;
        // The handler may call `req.affiliate.trackPayment` after it has answered.
        return whenOver(() => {
          if (!visitor.hasReported(kind)) unreported(route, status, why);
        });
      }
      if (status >= 400) return hintAt(`its response's status is ${status}`);
      // The visitor hung up before the error handler could set a status.
      if (went === "wrong" && !written) return undefined;
      return visitor.report(kind, happened, undefined, attribution);
    }

    function resolved(happened: unknown): Promise<unknown> {
      return new Promise((resolve) => {
        isResolved = true;
        let why: Why = happened === res ? "response" : "nothing";
        // Not in a promise's callback: the event is stored before the head leaves.
        whenKnown((head) => resolve(settle(happened, head, went ? "next" : why)));
        if (why === "nothing") why = "late";
        release();
      });
    }

    function rejected(reason: unknown): unknown {
      isResolved = true;
      onward(failureFrom(kind, reason));
      return went === "on" ? resolved(undefined) : undefined;
    }

    async function picked(pick: AnyPick): Promise<unknown> {
      const head = await new Promise<HeadSeen>(whenOver);
      if (!head.written) return hintAt("its visitor hung up before it answered");
      if (head.status >= 400) return hintAt(`its response's status is ${head.status}`);
      try {
        return settle(await pick(req, res), head, "pick");
      } catch (error) {
        return context.journal.dropped(kind, "pick", { message: `its \`pick\` threw: ${error}` });
      }
    }

    if (!pick) {
      whenKnown(({ status, written }) => {
        if (written && status < 400 && !isResolved && !went && context.holds()) release = holdBytes(req, res);
      });
    }
    let handled!: Promise<unknown>;
    visitor.addPendingWork(() => {
      // A throw becomes a rejection: Express 4 gives `next` neither rejections nor late throws.
      handled = (async () => handler(req, res, onward))();
      if (!pick) return handled.then(resolved, rejected);
      handled.catch((reason) => onward(failureFrom(kind, reason)));
      return picked(pick);
    });
    return handled;
  }

  function hintAt(because: string): void {
    context.journal.hint(`${kind} ${because}`, `a wrapped handler reports no ${kind}: ${because}`);
  }
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
