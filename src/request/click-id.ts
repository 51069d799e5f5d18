/**
 * The click ids that `onClick` makes. An id says when its click was made and for which affiliate,
 * so that every process recognises a repetition without a shared store. It also names the visitor's
 * other references of the last hour, for a visitor who alternates between links. A visitor who
 * forges an id only keeps this visitor's own click from being counted.
 *
 *     mf0x1k2a-Zm9vYmFy YmF6cXV4-3q2-  A1b2c  …
 *     time     salt     random   tag   minute and tag of an earlier reference, the latest first
 *
 * A tag is a digest of the reference and the salt, which a visitor keeps while an id names earlier
 * references. Without it, an affiliate could choose a reference with another affiliate's tag, and
 * keep that affiliate's clicks from being counted.
 */
import { hash, randomBytes } from "node:crypto";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
// An id has at most 60 characters: a service may keep it in a column of 64.
const MOST_EARLIER = 6;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CLICK_ID = /^([0-9a-z]{8,9})-([\w-]{8})[\w-]{8}-([\w-]{4})((?:[\w-]{5}){0,6})$/;

interface Reported {
  /** Four characters that stand for the reference. */
  readonly tag: string;
  /** In ms since the epoch; of an earlier reference up to a minute late: no hour is too short. */
  readonly at: number;
}

/** @param previous the visitor's click id so far, whoever made it. */
export function createClickId(reference: string, now: number, previous = ""): string {
  const past = reportedBy(previous, now);
  const salt = past.reported.length > 0 ? past.salt : randomText();
  const tag = tagOf(reference, salt);
  const earlier = past.reported
    .filter((reported) => reported.tag !== tag)
    .slice(0, MOST_EARLIER)
    .map((reported) => DIGITS[minuteOf(reported.at) % DIGITS.length] + reported.tag);
  return `${now.toString(36)}-${salt}${randomText()}-${tag}${earlier.join("")}`;
}

/** Whether this visitor's click on this reference was reported within the last hour. */
export function wasReported(clickId: string | undefined, reference: string, now: number): boolean {
  if (clickId === undefined) return false;
  const { reported, salt } = reportedBy(clickId, now);
  const tag = tagOf(reference, salt);
  return reported.some((earlier) => earlier.tag === tag);
}

/** Whether `onClick` made this id, as far as its form tells. */
export function isClickIdOfOnClick(value: string): boolean {
  return CLICK_ID.test(value);
}

/** The references of the last hour, the latest first. */
function reportedBy(clickId: string, now: number): { reported: Reported[]; salt: string } {
  const [, time = "", salt = "", tag = "", earlier = ""] = CLICK_ID.exec(clickId) ?? [];
  if (tag === "") return { reported: [], salt };
  const createdAt = Number.parseInt(time, 36);
  const all: Reported[] = [{ tag, at: createdAt }];
  for (const [digit = "", ...rest] of earlier.match(/.{5}/g) ?? []) {
    // The minute modulo 64: an earlier reference is at most 61 minutes older than the id.
    const older = (minuteOf(createdAt) - DIGITS.indexOf(digit)) & (DIGITS.length - 1);
    const minute = minuteOf(createdAt) - older;
    all.push({ tag: rest.join(""), at: Math.min(createdAt, (minute + 1) * MINUTE_MS - 1) });
  }
  return { reported: all.filter(({ at }) => at <= now && now - at < HOUR_MS), salt };
}

function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS);
}

function tagOf(reference: string, salt: string): string {
  return hash("sha256", `${salt} ${reference}`, "base64url").slice(0, 4);
}

/** Eight characters that nobody can guess: 48 bits. */
function randomText(): string {
  return randomBytes(6).toString("base64url");
}
