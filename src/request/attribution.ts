import { hash } from "node:crypto";
import type { Request } from "express";
import type { Config } from "../config.js";
import { type Attribution, definedOf, isTextOfNothing, isVisitorId } from "../events.js";
import type { Journal } from "../journal/journal.js";
import { harmless, isThenable } from "../shared/harmless.js";
import { broughtSession, signedCookie, visitorCookie } from "./cookies.js";

/** The session cookie that `onClick` sets. It is read before express-session's, because it outlives the new session at login. */
const SESSION_COOKIE = "svc_session_id";

/** The cookie that keeps the session id. `undefined` if the host's own function says what the session id is. */
export function sessionCookieName({ session }: Pick<Config, "session">): string | undefined {
  return typeof session === "function" ? undefined : (session ?? SESSION_COOKIE);
}

/** What `RequestAttribution` needs. */
export interface AttributionContext {
  readonly config: Pick<Config, "cookieName" | "session" | "consent" | "signed">;
  readonly journal: Journal;
}

/**
 * What a request says of its visitor: consent, click id and session id. Reads only when asked, because session middleware may be mounted
 * later and most requests report nothing; and only with consent. An id that was found once stays, even when the session changes.
 */
export class RequestAttribution {
  readonly #req: Request;
  readonly #context: AttributionContext;
  // A handler may regenerate the session before the id is read. So the id is taken now; it is used with consent only.
  readonly #sessionAtEntry: unknown;
  #consented: boolean | undefined;
  #signedCookies: Map<string, string | undefined> | undefined;
  #clickId: string | undefined;
  #sessionId: string | undefined;
  #loginSession: string | undefined;

  constructor(req: Request, context: AttributionContext) {
    this.#req = req;
    this.#context = context;
    this.#sessionAtEntry = expressSessionIdOf(req);
  }

  /** Whether the visitor has agreed. `consent` is asked once a request; a throw counts as no. */
  get consented(): boolean {
    const { config, journal } = this.#context;
    if (this.#consented === undefined) {
      const answer: unknown = harmless(
        () => config.consent(this.#req),
        (error) => journal.warn("consent", `\`consent\` threw, which counts as no: ${error}`),
      );
      if (isThenable(answer)) {
        const mend = "Return true or false; ask in a middleware above, and keep the answer on the request";
        journal.once("warn", "consent", `\`consent\` returned a promise, which counts as no. ${mend}`);
      }
      this.#consented = answer === true;
    }
    return this.#consented;
  }

  get clickId(): string | undefined {
    if (!this.consented) return undefined;
    this.#clickId ??= this.cookie(this.#context.config.cookieName);
    return this.#clickId;
  }

  get sessionId(): string | undefined {
    if (!this.consented) return undefined;
    this.#sessionId ??= this.#readSessionId();
    return this.#sessionId;
  }

  snapshot(): Attribution {
    const { clickId, sessionId } = this;
    return definedOf({ clickId, sessionId });
  }

  /** The id in a cookie. With `signed`, a wrong one is remembered, too: a visitor may send hundreds of forged cookies. */
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

  /** Uses these ids from now on. `onClick` creates them. */
  adopt({ clickId, sessionId }: Required<Attribution>): void {
    this.#clickId = clickId;
    this.#sessionId = sessionId;
  }

  /** Whether this visitor is known by the digest of a login session alone. */
  isLoginSession({ clickId, sessionId }: Attribution): boolean {
    return clickId === undefined && sessionId !== undefined && sessionId === this.#loginSession;
  }

  #readSessionId(): string | undefined {
    const { config, journal } = this.#context;
    const { session } = config;
    if (typeof session === "function") {
      const id: unknown = harmless(
        () => session(this.#req),
        (error) => journal.warn("session", `\`session\` threw, so the request has no session id: ${error}`),
      );
      if (isThenable(id)) {
        const mend = "Return the id; look it up in a middleware above, and keep it on the request";
        journal.once(
          "warn",
          "session",
          `\`session\` returned a promise, so the request has no session id. ${mend}`,
        );
      }
      if (isTextOfNothing(id)) journal.noId("what `session` returned", id);
      return isVisitorId(id) ? id : undefined;
    }
    return this.cookie(session ?? SESSION_COOKIE) ?? (session ? undefined : this.#expressSession());
  }

  #expressSession(): string | undefined {
    const id = this.#sessionAtEntry ?? expressSessionIdOf(this.#req);
    if (typeof id !== "string" || id === "" || !broughtSession(this.#req, id)) return undefined;
    // With the id itself, anyone could use the visitor's login. The service gets a digest, which is as unique.
    this.#loginSession = hash("sha256", id);
    return this.#loginSession;
  }
}

function expressSessionIdOf(req: Request): unknown {
  return (req as { sessionID?: unknown }).sessionID;
}
