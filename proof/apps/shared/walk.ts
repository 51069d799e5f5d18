import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Ledger } from "express-affiliate/sandbox";
import type { browser } from "../../../test/frameworks/kit/browser.js";
import type { Project } from "./project.js";

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
  const unreferred = await steps.pay(stranger, eve, 2);
  await unreferred.payAgain();

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
    const entries = contentsOf(walk.ledger)[kind];
    const seen = entries.map((entry) =>
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
