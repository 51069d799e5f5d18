import { randomUUID } from "node:crypto";
import { detailsOf } from "../../delivery/details.js";
import { isYes } from "../../service/answers.js";
import type { Answer, Attempt } from "../../service/attempt.js";
import type { Call, Calls } from "../../service/calls.js";
import { createTransport } from "../../service/transport.js";
import { systemClock } from "../../shared/clock.js";
import { visible } from "../../shared/printable.js";
import { presentable, type Secret } from "../../shared/secret.js";
import { withoutTrailingSlashes } from "../../shared/text.js";
import { type Finding, notDone, note, well, wrong } from "../finding.js";

const TIMEOUT_MS = 10_000;
const LONGEST_DRIFT_MS = 30_000;

export interface Target {
  readonly baseUrl: URL;
  readonly clientId: number;
  readonly calls: Calls;
  readonly apiKey: Secret | undefined;
  /** False if Node is told to trust any certificate. */
  readonly checksTls: boolean;
}

/** Checks the service, and what is asked for besides. */
export async function* checkService(
  target: Target,
  asked: { readonly session: string | undefined; readonly sendsClick: boolean },
): AsyncGenerator<Finding> {
  if (!target.checksTls)
    yield wrong(
      "NODE_TLS_REJECT_UNAUTHORIZED is 0: no certificate is checked, and anybody on the way could read a key, so " +
        "none is sent; unset the variable, and name the authority's file in NODE_EXTRA_CA_CERTS",
    );
  if (target.baseUrl.protocol === "http:")
    yield note("plain http: the key and customers' addresses travel in the open; fine on this machine");
  if (!(yield* checkStatus(target))) return;
  if (asked.session !== undefined) yield await checkSession(target, asked.session);
  if (asked.sendsClick) yield* sendTestClick(target);
  else
    yield notDone(
      `nothing was posted: whether clicks are taken, and client id ${target.clientId} is known, shows with --send-test-click, ` +
        "which leaves a click in the service's records",
    );
}

/** One attempt, made as by a tracker, over a connection of its own. */
async function ask(target: Target, call: Call, key = keyOf(target)): Promise<Attempt> {
  const transport = createTransport({
    baseUrl: target.baseUrl,
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

const keyOf = ({ apiKey, checksTls }: Target) => (checksTls ? apiKey : undefined);

/** Why an attempt failed, in the words of the service or of Node. */
function reasonOf({ apiKey }: Target, attempt: Attempt): string {
  const hide = (text: string) => presentable(text, apiKey);
  const { status, code, message } = detailsOf(attempt, undefined, { now: Date.now(), hide });
  return status === undefined ? message : `${status} ${code}: ${message}`;
}

/**
 * Whether the status endpoint (§4.5) answers with and without the key, and its clock is right.
 * Returns whether there was an answer.
 */
async function* checkStatus(target: Target): AsyncGenerator<Finding, boolean> {
  const call = target.calls.status("express-affiliate-doctor");
  const bare = await ask({ ...target, apiKey: undefined }, call);
  const answeredAt = Date.now();
  if (bare.type === "no-answer") {
    yield wrong(`the service does not answer: ${reasonOf(target, bare)}`);
    return false;
  }
  const key = keyOf(target);
  if (isStatus(bare)) yield well("the status endpoint answers, and wants no key");
  else if (bare.status !== 401)
    yield wrong(
      `the status endpoint does not answer as one should: ${reasonOf(target, bare)}; ${meaning(target, bare)}`,
    );
  else if (key) yield well("the status endpoint wants a key: 401 without one");
  else yield note("the status endpoint wants a key, and none was sent (--api-key-env NAME)");
  const keyed = key && (await ask(target, call));
  if (keyed && isStatus(keyed)) yield well("the status endpoint takes the key");
  else if (keyed)
    yield wrong(
      `the status endpoint does not take the key: ${reasonOf(target, keyed)}; is it this program owner's, whole, and not revoked?`,
    );
  yield compareClocks(bare, answeredAt);
  return true;
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

function compareClocks({ date }: Answer, now: number): Finding {
  const theirs = Date.parse(date ?? "");
  if (Number.isNaN(theirs)) return note("the service does not say what time it has");
  const seconds = Math.round((theirs - now) / 1_000);
  const drift = `${Math.abs(seconds)} s`;
  if (Math.abs(theirs - now) < LONGEST_DRIFT_MS)
    return well(`its clock and this machine's agree, within ${drift}`);
  const side = seconds < 0 ? "behind" : "ahead of";
  return wrong(`its clock is ${drift} ${side} this machine's: one of the two is wrong`);
}

/** Which affiliate a session is attributed to. */
async function checkSession(target: Target, sessionId: string): Promise<Finding> {
  const session = `session ${sessionId}`;
  const attempt = await ask(target, target.calls.status(sessionId));
  if (attempt.type === "answer" && attempt.status === 401 && !keyOf(target))
    return note(`${session}: reading its affiliate needs a key (--api-key-env NAME)`);
  if (attempt.type === "no-answer" || !isStatus(attempt))
    return wrong(`${session}: ${reasonOf(target, attempt)}`);
  const { hasAffiliate, affiliateReference, clickId, clickedAt } = attempt.body as Record<string, unknown>;
  if (!hasAffiliate) return wrong(`${session} is attributed to no affiliate`);
  const reference = visible(String(affiliateReference));
  return well(`${session} is attributed to ${reference}, through click ${clickId} at ${clickedAt}`);
}

/** Posts a recognisable test click, and checks whether the service then knows its session. */
async function* sendTestClick(target: Target): AsyncGenerator<Finding> {
  const id = `doctor-${randomUUID()}`;
  const affiliateReference = "express-affiliate-doctor";
  const click = { affiliateReference, clickId: id, sessionId: id, source: affiliateReference };
  const attempt = await ask(target, target.calls.click(click));
  if (attempt.type === "no-answer" || !isYes(attempt)) {
    const why = reasonOf(target, attempt);
    yield wrong(`the test click was not taken: ${why}; is --client-id ${target.clientId} right?`);
    return;
  }
  yield well(
    `the test click was taken for client id ${target.clientId}: reference ${affiliateReference}, session ${id}`,
  );
  yield await checkSession(target, id);
}
