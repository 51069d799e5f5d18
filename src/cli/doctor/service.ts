import { randomUUID } from "node:crypto";
import { request } from "undici";
import { isYes, refusalOf } from "../../service/answers.js";
import type { Answer } from "../../service/attempt.js";
import type { Call, Calls } from "../../service/calls.js";
import { errorCodeOf, errorFrom } from "../../shared/errors.js";
import { presentable, type Secret } from "../../shared/secret.js";
import { type Finding, notDone, note, well, wrong } from "../finding.js";

const TIMEOUT_MS = 10_000;
const LONGEST_BODY = 64 * 1024;
const LONGEST_DRIFT_MS = 30_000;

/** The service to be examined, and how to ask it. */
export interface Target {
  readonly baseUrl: URL;
  readonly clientId: number;
  readonly calls: Calls;
  readonly apiKey: Secret | undefined;
  readonly now: () => number;
}

interface Reply extends Answer {
  readonly date: string | undefined;
}

async function ask({ baseUrl }: Target, call: Call, key: Secret | undefined): Promise<Reply | Error> {
  try {
    const { statusCode, headers, body } = await request(baseUrl.href.replace(/\/+$/, "") + call.path, {
      method: call.method,
      headers: {
        accept: "application/json",
        ...(call.body && { "content-type": "application/json" }),
        ...(key && { authorization: `Bearer ${key.reveal()}` }),
      },
      body: call.body ? JSON.stringify(call.body) : null,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const json = await jsonIn(body).catch(() => undefined);
    return { answered: true, status: statusCode, body: json, date: headers.date?.toString() };
  } catch (error) {
    return errorFrom(error);
  }
}

/** The JSON in a body, if it is that within 64 KiB: more is not read. */
async function jsonIn(body: AsyncIterable<Buffer>): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > LONGEST_BODY) return undefined;
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString());
}

function saidNo({ apiKey, now }: Target, reply: Reply | Error): string {
  if (reply instanceof Error) return reply.message || errorCodeOf(reply);
  const hide = (text: string) => presentable(text, apiKey);
  const { status, error, message } = refusalOf(reply, { now: now(), hide });
  return `${status} ${error}: ${message}`;
}

/** Whether the status endpoint (§4.5) answers, with the key and without; and whether its clock and ours agree. */
export async function* checkStatus(target: Target): AsyncGenerator<Finding> {
  const { calls, apiKey, now } = target;
  const call = calls.status("express-affiliate-doctor");
  const bare = await ask(target, call, undefined);
  const answeredAt = now();
  if (bare instanceof Error) return yield wrong(`the service does not answer: ${saidNo(target, bare)}`);
  yield withoutKey(target, bare);
  if (apiKey) yield withKey(target, await ask(target, call, apiKey));
  yield clock(bare, answeredAt);
}

function withoutKey(target: Target, reply: Reply): Finding {
  if (isStatus(reply)) return well("the status endpoint answers, and wants no key");
  if (reply.status !== 401)
    return wrong(
      `the status endpoint does not answer as one should: ${saidNo(target, reply)}; ${meaning(target, reply)}`,
    );
  return target.apiKey
    ? well("the status endpoint wants a key: 401 without one")
    : note("the status endpoint wants a key, and none was given (--api-key-env NAME)");
}

function withKey(target: Target, reply: Reply | Error): Finding {
  if (!(reply instanceof Error) && isStatus(reply)) return well("the status endpoint takes the key");
  return wrong(
    `the status endpoint does not take the key: ${saidNo(target, reply)}; is it this program owner's, whole, and not revoked?`,
  );
}

/** What an answer that is none of the tracking API's says of the address, in plain words. */
function meaning({ baseUrl }: Target, { status }: Reply): string {
  const base = baseUrl.href.replace(/\/+$/, "");
  if (status === 404)
    return `there is nothing at ${base}/api/v1/tracking/status/…: --base-url is what comes before /api/v1/`;
  if (status < 300) return `something else than the tracking service answers at ${base}`;
  if (status < 400)
    return "it sends the caller to another address, where this package never follows: give that address";
  if (status < 500) return `what answers at ${base} is perhaps not the tracking service`;
  return "the service, or what stands before it, has a fault of its own";
}

function isStatus(reply: Reply): boolean {
  return isYes(reply) && typeof Object(reply.body).hasAffiliate === "boolean";
}

function clock({ date }: Reply, now: number): Finding {
  const theirs = Date.parse(date ?? "");
  if (Number.isNaN(theirs)) return note("the service does not say what time it has");
  const seconds = Math.round((theirs - now) / 1_000);
  if (Math.abs(theirs - now) < LONGEST_DRIFT_MS)
    return well(`its clock and this machine's agree, within ${Math.abs(seconds)} s`);
  return wrong(
    `its clock is ${Math.abs(seconds)} s ${seconds < 0 ? "behind" : "ahead of"} this machine's: one of the two is wrong`,
  );
}

/** Whom a session is attributed to. */
export async function checkSession(target: Target, sessionId: string): Promise<Finding> {
  const reply = await ask(target, target.calls.status(sessionId), target.apiKey);
  if (!(reply instanceof Error) && reply.status === 401 && !target.apiKey)
    return note(`session ${sessionId}: to see whom it is attributed to takes a key (--api-key-env NAME)`);
  if (reply instanceof Error || !isStatus(reply))
    return wrong(`session ${sessionId}: ${saidNo(target, reply)}`);
  const { hasAffiliate, affiliateReference, clickId, clickedAt } = reply.body as Record<string, unknown>;
  return hasAffiliate
    ? well(
        `session ${sessionId} is attributed to ${affiliateReference}, through click ${clickId} at ${clickedAt}`,
      )
    : wrong(`session ${sessionId} is attributed to no affiliate`);
}

/** Posts a click that is recognisable as a test, and looks whether the service knows its session afterwards. */
export async function* sendTestClick(target: Target): AsyncGenerator<Finding> {
  const id = `doctor-${randomUUID()}`;
  const click = {
    affiliateReference: "express-affiliate-doctor",
    clickId: id,
    sessionId: id,
    source: "express-affiliate-doctor",
  };
  const reply = await ask(target, target.calls.click(click), target.apiKey);
  if (reply instanceof Error || !isYes(reply)) {
    yield wrong(
      `the test click was not taken: ${saidNo(target, reply)}; is --client-id ${target.clientId} right?`,
    );
    return;
  }
  yield well(
    `the test click was taken for client id ${target.clientId}: reference ${click.affiliateReference}, session ${id}`,
  );
  yield await checkSession(target, id);
}

/** What is not known where nothing was posted. */
export function noTestClick({ clientId }: Target): Finding {
  return notDone(
    `nothing was posted: whether clicks are taken, and client id ${clientId} is known, shows with --send-test-click, ` +
      "which leaves a click in the service's records",
  );
}
