import type { Request } from "express";
import type { Config } from "../config.js";
import { type Attribution, isTextOfNothing, isVisitorId, loginSessionId } from "../conversion/visitor-ids.js";
import type { Journal } from "../journal/journal.js";
import { harmless, isThenable } from "../shared/harmless.js";
import { allCookiesOf, broughtSession, clickIdOfSeveral, signedCookie, visitorCookie } from "./cookies.js";

/** The cookie that `onClick` sets. It outlives the new express-session at login: read it first. */
const SESSION_COOKIE = "svc_session_id";

/** The session id's cookie; `undefined` if the host's own function gives the id. */
export function sessionCookieName({
  session,
  cookiePrefix,
}: Pick<Config, "session" | "cookiePrefix">): string | undefined {
  return typeof session === "function" ? undefined : `${cookiePrefix ?? ""}${session ?? SESSION_COOKIE}`;
}

export interface AttributionContext {
  readonly config: Pick<Config, "cookieName" | "cookiePrefix" | "session" | "consent" | "signed">;
  readonly journal: Journal;
}

/**
 * What a request says of its visitor: consent, click id and session id.
 *
 * - Reads only with consent, and only when asked: session middleware may be mounted later, and most
 *   requests report nothing.
 * - An id that was found once stays, even if the session changes.
 */
export class RequestAttribution {
  readonly #req: Request;
  readonly #context: AttributionContext;
  // Taken before the handler, which may regenerate the session. Used with consent only.
  readonly #sessionAtEntry: unknown;
  #consented: boolean | undefined;
  #signedCookies: Map<string, string | undefined> | undefined;
  #clickId: string | undefined;
  #sessionId: string | undefined;

  constructor(req: Request, context: AttributionContext) {
    this.#req = req;
    this.#context = context;
    this.#sessionAtEntry = expressSessionIdOf(req);
  }

  /** `consent` is asked once a request; a throw counts as no. */
  get consented(): boolean {
    const { consent } = this.#context.config;
    this.#consented ??=
      consent === undefined ||
      this.#ask("consent", (req) => consent(req, allCookiesOf(req)), {
        result: "which counts as no",
        advice: "Return true or false; ask in a middleware above, and keep the answer on the request",
      }) === true;
    return this.#consented;
  }

  get clickId(): string | undefined {
    if (!this.consented) return undefined;
    this.#clickId ??= this.#readClickId();
    return this.#clickId;
  }

  get sessionId(): string | undefined {
    if (!this.consented) return undefined;
    this.#sessionId ??= this.#readSessionId();
    return this.#sessionId;
  }

  snapshot(): Attribution {
    const { clickId, sessionId } = this;
    return { ...(clickId !== undefined && { clickId }), ...(sessionId !== undefined && { sessionId }) };
  }

  /** The id in a cookie. Misses of signed cookies are kept too: hundreds may be forged. */
  cookie(name: string): string | undefined {
    const { config, journal } = this.#context;
    const { signed } = config;
    if (!signed) {
      return visitorCookie(this.#req, name, (text) => journal.noId(`the cookie \`${name}\``, text));
    }
    this.#signedCookies ??= new Map();
    if (!this.#signedCookies.has(name)) this.#signedCookies.set(name, signedCookie(this.#req, name, signed));
    return this.#signedCookies.get(name);
  }

  setIds({ clickId, sessionId }: Attribution): void {
    this.#clickId = clickId;
    this.#sessionId = sessionId;
  }

  #readClickId(): string | undefined {
    const { cookieName, signed } = this.#context.config;
    return (signed ? undefined : clickIdOfSeveral(this.#req, cookieName)) ?? this.cookie(cookieName);
  }

  #readSessionId(): string | undefined {
    const { config, journal } = this.#context;
    const { session } = config;
    if (typeof session === "function") {
      const id = this.#ask("session", session, {
        result: "so the request has no session id",
        advice: "Return the id; look it up in a middleware above, and keep it on the request",
      });
      const isIgnored = isTextOfNothing(id) || typeof (id ?? "") !== "string";
      if (isIgnored && !isThenable(id)) journal.noId("what `session` returned", id);
      return isVisitorId(id) ? id : undefined;
    }
    const ofCookie = this.cookie(sessionCookieName(config) ?? "");
    return ofCookie ?? (session ? undefined : this.#expressSession());
  }

  /** What a function of the host returns. Logs a throw, and a promise, which is no answer. */
  #ask(
    option: "consent" | "session",
    of: (req: Request) => unknown,
    { result, advice }: { result: string; advice: string },
  ): unknown {
    const { journal } = this.#context;
    const answer = harmless(
      () => of(this.#req),
      (error) => journal.warn(option, `\`${option}\` threw, ${result}: ${error}`),
    );
    if (isThenable(answer)) {
      journal.once("warn", option, `\`${option}\` returned a promise, ${result}. ${advice}`);
    }
    return answer;
  }

  #expressSession(): string | undefined {
    const id = this.#sessionAtEntry ?? expressSessionIdOf(this.#req);
    const isTheirs = typeof id === "string" && id !== "" && broughtSession(this.#req, id);
    return isTheirs ? loginSessionId(id) : undefined;
  }
}

function expressSessionIdOf(req: Request): unknown {
  return (req as { sessionID?: unknown }).sessionID;
}
