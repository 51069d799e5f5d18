import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Ledger } from "express-affiliate/sandbox";
import type { browser } from "../../../test/frameworks/kit/browser.js";
import { root } from "../../../test/helpers/docs/pages.js";
import type { Project } from "./project.js";

/** One change of a file. */
type Change =
  /** Lines that are inserted below or above the line that contains a text. */
  | { readonly below: string; readonly add: string }
  | { readonly above: string; readonly add: string }
  /** A text that is replaced. */
  | { readonly replace: string; readonly by: string };

/** One change of an app's files. */
export type Edit =
  /** A file of proof/apps/patches/ that is copied to this path of the app. */
  { readonly copy: string; readonly to: string } | ({ readonly file: string } & Change);

/** A server that an app calls. */
export interface Beside {
  /** By which the app finds it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** An application of other people, and how it is walked: the default of proof/apps/NAME.ts. */
export interface App {
  readonly title: string;
  /** The major of Node that it needs, if it does not run on Node 20. */
  readonly node?: 24;
  /** The server whose database it gets, as `DATABASE_URL`. */
  readonly needs?: "postgres";
  /** Makes it in an empty folder, from packages of exact versions, as its own documentation says. */
  make(project: Project): Promise<void>;
  /** The folder whose package.json gets the package. Default: the project's own. */
  readonly root?: string;
  /** What a user of the package changes: at most 40 lines. */
  readonly patch: readonly Edit[];
  /** Builds it and migrates its database: after the patch, before the start. */
  prepare?(project: Project): Promise<void>;
  /** Starts what it needs beside a database, in this process: another company's server. */
  beside?(): Promise<Beside>;
  /** Its environment, beside `PORT`, `DATABASE_URL`, `OUTBOX_DIRECTORY` and the service. */
  environment?(at: { readonly port: number; readonly databaseUrl: string }): Readonly<Record<string, string>>;
  /** The command that starts it, and the path that answers below 500 when it has started. */
  readonly start: readonly string[];
  readonly ready?: string;
  walk(walk: Walk): Promise<void>;
}

/** The parts of a database's address. Apps have one of two names for the user. */
export function partsOf(databaseUrl: string) {
  const { hostname, port, pathname, username } = new URL(databaseUrl);
  const user = { DB_USER: username, DB_USERNAME: username, DB_PASSWORD: "none" };
  return { DB_HOST: hostname, DB_PORT: port, DB_NAME: pathname.slice(1), ...user };
}

/** Changes of one file of the app. */
export function inFile(file: string, ...changes: readonly Change[]): Edit[] {
  return changes.map((change) => ({ file, ...change }));
}

/** The most lines that a patch may have. */
export const MOST_LINES = 40;

/** How many lines of code a patch writes. Blank lines do not count. */
export function linesOf(patch: readonly Edit[]): number {
  const texts = patch.map((edit) =>
    "copy" in edit ? textOf(edit.copy) : "add" in edit ? edit.add : changedLines(edit.replace, edit.by),
  );
  return texts.flatMap((text) => text.split("\n")).filter((line) => line.trim() !== "").length;
}

/** @throws if an app has no line with the text of an edit, or several. */
export async function applyPatch(patch: readonly Edit[], folder: string): Promise<void> {
  for (const edit of patch) {
    if ("copy" in edit) {
      const target = join(folder, edit.to);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, textOf(edit.copy));
      continue;
    }
    const path = join(folder, edit.file);
    const text = await readFile(path, "utf8");
    const wanted = "below" in edit ? edit.below : "above" in edit ? edit.above : edit.replace;
    const parts = text.split(wanted);
    if (parts.length !== 2) throw new Error(`${edit.file} has ${parts.length - 1} times: ${wanted}`);
    await writeFile(path, changed(text, edit));
  }
}

function changed(text: string, edit: Change): string {
  if ("replace" in edit) return text.replace(edit.replace, () => edit.by);
  const isBelow = "below" in edit;
  const at = text.indexOf(isBelow ? edit.below : edit.above);
  const lineEnd = text.indexOf("\n", at);
  const cut = isBelow ? (lineEnd === -1 ? text.length : lineEnd + 1) : text.lastIndexOf("\n", at) + 1;
  return `${text.slice(0, cut)}${edit.add}\n${text.slice(cut)}`;
}

function changedLines(before: string, after: string): string {
  const old = new Set(before.split("\n"));
  return after
    .split("\n")
    .filter((line) => !old.has(line))
    .join("\n");
}

const textOf = (file: string): string => readFileSync(join(root, "proof/apps/patches", file), "utf8");

/** What a walk has of the app that it walks. */
export interface Walk {
  readonly project: Project;
  /** A browser with no cookies. */
  visitor(): Visitor;
  /** Ends the app by this signal (default: SIGTERM), and starts it again. */
  restart(signal?: "SIGKILL"): Promise<void>;
  /** What the service has. */
  readonly ledger: Ledger;
  /** Called with the first payment that the service has linked. */
  firstPaymentIsLinked(): void;
}

export type Visitor = ReturnType<typeof browser>;
export type Answer = Awaited<ReturnType<Visitor["open"]>>;

export interface Person {
  readonly email: string;
  readonly name: string;
  readonly password: string;
}

/** An order that has been paid. */
export interface Order {
  /** In major units. */
  readonly value: number;
  /** Tells the app of the payment again: the gateway's webhook, or the page that is reloaded. */
  payAgain(): Promise<unknown>;
  refund?(): Promise<unknown>;
}

/** Pays, and can do so again. */
export async function paid(value: number, pay: () => Promise<unknown>): Promise<Order> {
  await pay();
  return { value, payAgain: pay };
}

/** What differs from app to app. */
export interface Steps {
  /** Default: `/`. */
  readonly landing?: string;
  /** Has the visitor sign up, and log in if the app asks for that. */
  signUp(visitor: Visitor, person: Person): Promise<unknown>;
  /** Has the visitor buy something and pay for it. `nth` begins at 1. */
  pay(visitor: Visitor, person: Person, nth: number): Promise<Order>;
}

type Kind = "clicks" | "registrations" | "payments";

const AFFILIATE = "ALICE";
const PATIENCE_MS = 60_000;

/**
 * The way of a customer through a shop: the link, the sign-up, a restart, a payment, its webhook
 * again, a kill, the webhook once more, a refund, a second order. A visitor whom no affiliate has
 * sent does the same. Each that the service must have, it has once.
 */
export async function walkShop(walk: Walk, steps: Steps): Promise<void> {
  const ada = { email: "ada@shop.example", name: "Ada Lovelace", password: "Correct-horse-7" };
  const visitor = walk.visitor();
  const page = await visitor.open(`${steps.landing ?? "/"}?ref=${AFFILIATE}`);
  assert.ok(page.status < 400, `the landing page answers ${page.status}: ${page.text.slice(0, 300)}`);
  await arrive(walk, "clicks", [AFFILIATE]);

  await steps.signUp(visitor, ada);
  await arrive(walk, "registrations", [ada.email]);

  await walk.restart();
  const first = await steps.pay(visitor, ada, 1);
  await arrive(walk, "payments", [ada.email]);
  walk.firstPaymentIsLinked();

  await first.payAgain();
  await walk.restart("SIGKILL");
  await first.payAgain();
  await first.refund?.();

  const eve = { ...ada, email: "eve@shop.example", name: "Eve" };
  const stranger = walk.visitor();
  await steps.signUp(stranger, eve);
  await (await steps.pay(stranger, eve, 2)).payAgain();

  // Events of a visitor arrive in order: a repeated first order would be there before this one.
  const second = await steps.pay(visitor, ada, 3);
  await arrive(walk, "payments", [ada.email, ada.email]);

  const { clicks, registrations, payments } = contentsOf(walk.ledger);
  assert.deepEqual([clicks.length, registrations.length, payments.length], [1, 1, 2], "each is there once");
  for (const { affiliateReference, notLinked } of [...registrations, ...payments]) {
    assert.deepEqual([affiliateReference, notLinked], [AFFILIATE, null], "each is linked");
  }
  const values = payments.map(({ leadValue }) => leadValue);
  assert.deepEqual(values, [first.value, second.value], "with its amount");
}

/** Waits until the service has exactly these, by reference or by the customer's address. */
async function arrive(walk: Walk, kind: Kind, expected: readonly string[]): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const seen = contentsOf(walk.ledger)[kind].map((entry) =>
      "customerEmail" in entry ? entry.customerEmail : entry.affiliateReference,
    );
    if (isDeepStrictEqual(seen, expected)) return;
    if (seen.length > expected.length || performance.now() > until) {
      throw new Error(`the service has the ${kind} ${JSON.stringify(seen)}, not ${JSON.stringify(expected)}`);
    }
    await sleep(50);
  }
}

/** @throws unless the answer's status is below 400. */
export function taken(answer: Answer): Answer {
  assert.ok(answer.status < 400, `${answer.status} ${answer.text.slice(0, 1_000)}`);
  return answer;
}

export function contentsOf(ledger: Ledger) {
  return { clicks: ledger.clicks(), registrations: ledger.registrations(), payments: ledger.payments() };
}
