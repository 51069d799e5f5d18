import { randomUUID } from "node:crypto";
import { request } from "undici";
import { type Calls, isYes, refusalOf } from "../client.js";
import { errorCodeOf, errorFrom } from "../errors.js";
import { type Finding, notDone, note, well, wrong } from "../finding.js";
import { presentable, type Secret } from "../secret.js";
import type { Answer, Call } from "../transport.js";

const PATIENCE_MS = 10_000;
const LONGEST_BODY = 64 * 1024;
const LONGEST_DRIFT_MS = 30_000;

/** The service to be examined, and how to ask it. */
export interface Patient {
  readonly baseUrl: URL;
  readonly calls: Calls;
  readonly apiKey: Secret | undefined;
  readonly now: () => number;
}

interface Reply extends Answer {
  readonly date: string | undefined;
}

async function ask({ baseUrl }: Patient, call: Call, key: Secret | undefined): Promise<Reply | Error> {
  try {
    const { statusCode, headers, body } = await request(baseUrl.href.replace(/\/+$/, "") + call.path, {
      method: call.method,
      headers: {
        accept: "application/json",
        ...(call.body && { "content-type": "application/json" }),
        ...(key && { authorization: `Bearer ${key.reveal()}` }),
      },
      body: call.body ? JSON.stringify(call.body) : null,
      signal: AbortSignal.timeout(PATIENCE_MS),
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

function saidNo({ apiKey, now }: Patient, reply: Reply | Error): string {
  if (reply instanceof Error) return reply.message || errorCodeOf(reply);
  const hide = (text: string) => presentable(text, apiKey);
  const { status, error, message } = refusalOf(reply, { now: now(), hide });
  return `${status} ${error}: ${message}`;
}

/** Whether the status endpoint (§4.5) answers, with the key and without; and whether its clock and ours agree. */
export async function checkStatus(patient: Patient): Promise<Finding[]> {
  const { calls, apiKey, now } = patient;
  const call = calls.status("express-affiliate-doctor");
  const bare = await ask(patient, call, undefined);
  if (bare instanceof Error) return [wrong(`the service does not answer: ${saidNo(patient, bare)}`)];
  const findings = [withoutKey(patient, bare)];
  if (apiKey) findings.push(withKey(patient, await ask(patient, call, apiKey)));
  return [...findings, clock(bare, now())];
}

function withoutKey(patient: Patient, reply: Reply): Finding {
  if (isStatus(reply)) return well("the status endpoint answers, and wants no key");
  if (reply.status !== 401)
    return wrong(`the status endpoint does not answer as one should: ${saidNo(patient, reply)}`);
  return patient.apiKey
    ? well("the status endpoint wants a key: 401 without one")
    : note("the status endpoint wants a key, and none was given (--api-key-env NAME)");
}

function withKey(patient: Patient, reply: Reply | Error): Finding {
  if (!(reply instanceof Error) && isStatus(reply)) return well("the status endpoint takes the key");
  return wrong(`the status endpoint does not take the key: ${saidNo(patient, reply)}`);
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
export async function checkSession(patient: Patient, sessionId: string): Promise<Finding> {
  const reply = await ask(patient, patient.calls.status(sessionId), patient.apiKey);
  if (reply instanceof Error || !isStatus(reply))
    return wrong(`session ${sessionId}: ${saidNo(patient, reply)}`);
  const { hasAffiliate, affiliateReference, clickId, clickedAt } = reply.body as Record<string, unknown>;
  return hasAffiliate
    ? well(
        `session ${sessionId} is attributed to ${affiliateReference}, through click ${clickId} at ${clickedAt}`,
      )
    : wrong(`session ${sessionId} is attributed to nobody`);
}

/** Posts a click that is recognisable as a test, and looks whether the service knows its session afterwards. */
export async function sendTestClick(patient: Patient): Promise<Finding[]> {
  const id = `doctor-${randomUUID()}`;
  const click = {
    affiliateReference: "express-affiliate-doctor",
    clickId: id,
    sessionId: id,
    source: "express-affiliate-doctor",
  };
  const reply = await ask(patient, patient.calls.click(click), patient.apiKey);
  if (reply instanceof Error || !isYes(reply))
    return [wrong(`the test click was not taken: ${saidNo(patient, reply)}`)];
  return [
    well(`the test click was taken: reference ${click.affiliateReference}, session ${id}`),
    await checkSession(patient, id),
  ];
}

export const noTestClick: Finding = notDone(
  "nothing was posted: whether clicks are taken shows with --send-test-click, which leaves a click in the service's records",
);
