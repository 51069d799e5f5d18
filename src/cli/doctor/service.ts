import { randomUUID } from "node:crypto";
import { detailsOf } from "../../delivery/details.js";
import { isYes } from "../../service/answers.js";
import type { Answer, Attempt } from "../../service/attempt.js";
import type { Call, Calls } from "../../service/calls.js";
import { createTransport } from "../../service/transport.js";
import { systemClock } from "../../shared/clock.js";
import { harmless } from "../../shared/harmless.js";
import { visible } from "../../shared/printable.js";
import { presentable, type Secret } from "../../shared/secret.js";
import { withoutTrailingSlashes } from "../../shared/text.js";
import { type CheckResult, notDone, note, well, wrong } from "../finding.js";
import { LAST } from "./outbox.js";

const TIMEOUT_MS = 10_000;
const LONGEST_DRIFT_MS = 30_000;

export interface Target {
  readonly baseUrl: URL;
  readonly clientId: number;
  readonly calls: Calls;
  readonly apiKey: Secret | undefined;
}

/** One attempt, made as by a tracker, over a connection of its own. */
async function ask({ baseUrl }: Target, call: Call, key: Secret | undefined): Promise<Attempt> {
  const transport = createTransport({
    baseUrl,
    connections: 1,
    connectTimeoutMs: TIMEOUT_MS,
    timeoutMs: TIMEOUT_MS,
    clock: systemClock,
    headers: { accept: "application/json", ...(key && { authorization: `Bearer ${key.reveal()}` }) },
  });
  try {
    return await transport.send(call, { isOfHost: true });
  } finally {
    await transport.close();
  }
}

const ADVICE: readonly (readonly [code: RegExp, advice: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, "is the name spelt right, is there DNS?"],
  [/^ECONNREFUSED$/, "nothing listens at this port: is the port right, does the service run?"],
  [/^(ECONNRESET|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, "is there a firewall or a proxy in between?"],
];

/** Why an attempt failed, in the words of the service or of Node, and what to do. */
function reasonOf({ apiKey }: Target, attempt: Attempt): string {
  const hide = (text: string) => presentable(text, apiKey);
  const { status, code, message } = detailsOf(attempt, undefined, { now: Date.now(), hide });
  if (status !== undefined) return `${status} ${code}: ${message}`;
  const advice = ADVICE.find(([codes]) => codes.test(code))?.[1];
  return advice ? `${message}; ${advice}` : message;
}

/** Whether Node is told to trust any certificate. */
export function checkTlsSetting(env: NodeJS.ProcessEnv): CheckResult | undefined {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== "0") return undefined;
  return wrong(
    "NODE_TLS_REJECT_UNAUTHORIZED is 0: no certificate is checked, and anybody on the way could read a key, so " +
      "none is sent; unset the variable, and name the authority's file in NODE_EXTRA_CA_CERTS",
  );
}

/**
 * Whether the status endpoint (§4.5) answers with and without the key, and its clock is right.
 * Returns whether there was an answer.
 */
export async function* checkStatus(target: Target): AsyncGenerator<CheckResult, boolean> {
  const { baseUrl, calls, apiKey } = target;
  if (baseUrl.protocol === "http:")
    yield note("plain http: the key and customers' addresses travel in the open; fine on this machine");
  const call = calls.status("express-affiliate-doctor");
  const bare = await ask(target, call, undefined);
  const answeredAt = Date.now();
  if (bare.type === "no-answer") {
    yield wrong(`the service does not answer: ${reasonOf(target, bare)}`);
    return false;
  }
  yield withoutKey(target, bare);
  if (apiKey) yield withKey(target, await ask(target, call, apiKey));
  yield compareClocks(bare, answeredAt);
  return true;
}

function withoutKey(target: Target, answer: Answer): CheckResult {
  if (isStatus(answer)) return well("the status endpoint answers, and wants no key");
  if (answer.status !== 401)
    return wrong(
      `the status endpoint does not answer as one should: ${reasonOf(target, answer)}; ${meaning(target, answer)}`,
    );
  return target.apiKey
    ? well("the status endpoint wants a key: 401 without one")
    : note("the status endpoint wants a key, and none was sent (--api-key-env NAME)");
}

function withKey(target: Target, attempt: Attempt): CheckResult {
  if (isStatus(attempt)) return well("the status endpoint takes the key");
  return wrong(
    `the status endpoint does not take the key: ${reasonOf(target, attempt)}; is it this program owner's, whole, and not revoked?`,
  );
}

/** What an unexpected answer means for the address. */
function meaning({ baseUrl }: Target, { status }: Answer): string {
  const base = withoutTrailingSlashes(baseUrl.href);
  if (status === 404)
    return `there is nothing at ${base}/api/v1/tracking/status/…: --base-url is what comes before /api/v1/`;
  if (status < 300) return `something else than the tracking service answers at ${base}`;
  if (status < 400)
    return "it redirects to another address, and this package never follows: give that address";
  if (status < 500) return `what answers at ${base} is perhaps not the tracking service`;
  return "the service, or a proxy in front of it, has a fault";
}

function isStatus(attempt: Attempt): boolean {
  return (
    attempt.type === "answer" && isYes(attempt) && typeof Object(attempt.body).hasAffiliate === "boolean"
  );
}

function compareClocks({ date }: Answer, now: number): CheckResult {
  const theirs = Date.parse(date ?? "");
  if (Number.isNaN(theirs)) return note("the service does not say what time it has");
  const seconds = Math.round((theirs - now) / 1_000);
  if (Math.abs(theirs - now) < LONGEST_DRIFT_MS)
    return well(`its clock and this machine's agree, within ${Math.abs(seconds)} s`);
  return wrong(
    `its clock is ${Math.abs(seconds)} s ${seconds < 0 ? "behind" : "ahead of"} this machine's: one of the two is wrong`,
  );
}

/** Which affiliate a session is attributed to. */
export async function checkSession(target: Target, sessionId: string): Promise<CheckResult> {
  const attempt = await ask(target, target.calls.status(sessionId), target.apiKey);
  if (attempt.type === "answer" && attempt.status === 401 && !target.apiKey)
    return note(`session ${sessionId}: reading its affiliate needs a key (--api-key-env NAME)`);
  if (attempt.type === "no-answer" || !isStatus(attempt))
    return wrong(`session ${sessionId}: ${reasonOf(target, attempt)}`);
  const { hasAffiliate, affiliateReference, clickId, clickedAt } = attempt.body as Record<string, unknown>;
  return hasAffiliate
    ? well(
        `session ${sessionId} is attributed to ${visible(String(affiliateReference))}, through click ${clickId} at ${clickedAt}`,
      )
    : wrong(`session ${sessionId} is attributed to no affiliate`);
}

/** Posts a recognisable test click, and checks whether the service then knows its session. */
export async function* sendTestClick(target: Target): AsyncGenerator<CheckResult> {
  const id = `doctor-${randomUUID()}`;
  const click = {
    affiliateReference: "express-affiliate-doctor",
    clickId: id,
    sessionId: id,
    source: "express-affiliate-doctor",
  };
  const attempt = await ask(target, target.calls.click(click), target.apiKey);
  if (attempt.type === "no-answer" || !isYes(attempt)) {
    yield wrong(
      `the test click was not taken: ${reasonOf(target, attempt)}; is --client-id ${target.clientId} right?`,
    );
    return;
  }
  yield well(
    `the test click was taken for client id ${target.clientId}: reference ${click.affiliateReference}, session ${id}`,
  );
  yield await checkSession(target, id);
}

/** What the doctor could only find out by posting. */
export function noTestClick({ clientId }: Target): CheckResult {
  return notDone(
    `nothing was posted: whether clicks are taken, and client id ${clientId} is known, shows with --send-test-click, ` +
      "which leaves a click in the service's records",
  );
}

interface Entry {
  readonly kind: string;
  readonly at: string;
  readonly affiliateReference: string | null;
  readonly notLinked?: string | null | undefined;
}

/** A sandbox's last entries. A real service has no ledger to ask for. */
export async function* lastInSandbox(baseUrl: URL): AsyncGenerator<CheckResult> {
  const ledger = await ledgerAt(`${withoutTrailingSlashes(baseUrl.href)}/ledger.json?limit=${LAST}`);
  const entries =
    ledger && harmless(() => [ledger.clicks, ledger.registrations, ledger.payments].flat().map(read));
  if (!entries) {
    yield notDone(
      "what the service has recorded last cannot be asked: only a sandbox has a ledger (--outbox shows the last events of an outbox)",
    );
    return;
  }
  if (entries.length === 0) yield note("the sandbox has recorded nothing yet");
  const last = entries.toSorted((one, other) => other.at.localeCompare(one.at)).slice(0, LAST);
  for (const { kind, at, affiliateReference, notLinked } of last) {
    const says = `recorded ${at}: a ${kind}, `;
    yield affiliateReference === null
      ? note(`${says}credited to no affiliate: ${notLinked}`)
      : well(`${says}credited to ${visible(affiliateReference)}`);
  }
}

/** Without the key: a page that is not there needs none. */
async function ledgerAt(url: string): Promise<Record<string, unknown[]> | undefined> {
  try {
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
    return response.ok ? ((await response.json()) as Record<string, unknown[]>) : undefined;
  } catch {
    return undefined;
  }
}

/** @throws TypeError if it is no entry of a ledger. */
function read(entry: unknown): Entry {
  const { kind, at, affiliateReference, notLinked } = entry as Entry;
  const isCredited = typeof affiliateReference === "string" || affiliateReference === null;
  if (typeof kind !== "string" || typeof at !== "string" || !isCredited)
    throw new TypeError("no entry of a ledger");
  return { kind, at, affiliateReference, notLinked };
}
