import type { Outbox } from "express-affiliate";
import { expect, test } from "vitest";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { startService } from "../../helpers/service.js";
import { startTracker } from "../../helpers/tracker.js";
import { jsonOf, outbox } from "./helpers.js";

const TAKEN_FIRST = 20;
const REPORTED = 100;
const MEANWHILE = 25;

/** An outbox that can be copied while its host runs, and put back once that has ended. */
export interface Restorable {
  /** Opens it, as a host does. */
  open(options?: { leaseMs: number }): Outbox | Promise<Outbox>;
  /** How the command line names it. */
  where(): readonly string[];
  /** What `hold` says while a host delivers. */
  readonly refuses: RegExp;
  /** Copies it. Resolves to what puts the copy back. */
  backUp(): Promise<() => unknown>;
}

/** Tests of `hold` after a restore. */
export function testRestore({ open, where, refuses, backUp }: Restorable): void {
  test("hold makes unconfirmed dead letters of all that may have been delivered since the backup: no payment goes twice", async () => {
    const service = await shopService();
    await restoreOldBackup(service);

    const { held } = await holding();
    expect(held).toBeGreaterThanOrEqual(REPORTED - TAKEN_FIRST - 8);
    const { json } = await jsonOf([...where(), "list", "--limit", "1000"]);
    expect(json.deadLetters).toHaveLength(held);
    for (const letter of json.deadLetters) {
      expect(letter).toMatchObject({ kind: "payment", reason: "unconfirmed", code: "ERR_HELD" });
    }

    const tracker = await startHost(service);
    await report(tracker, "after", 1);
    await expect.poll(() => tracker.stats().queued).toBe(0);
    expect(service.taken).toContain("after-0@shop.example");
    expect(twiceIn(service.taken)).toEqual([]);
    expect(tracker.stats().dead.unconfirmed).toBe(held);
  });

  test("hold refuses while a host delivers, then holds payments alone: what waits behind them goes", async () => {
    const visitor = { sessionId: "ann" };
    const [payment, later] = [sample("payment", visitor), sample("registration", visitor)];
    {
      await using stage = await Stage.open(() => open());
      stage.delivery.capacity = 1;
      stage.start();
      await stage.add(payment, later);
      const { live, settle } = await stage.delivery.next();
      const refused = { code: 1, out: "", err: expect.stringMatching(refuses) };
      expect(await outbox([...where(), "hold"])).toEqual(refused);
      stage.delivery.capacity = -1;
      settle({ type: "retry", inMs: 0, history: { ...live.history, attempts: 2, triedAt: 1 } });
    }
    const held = "ok      1 payment held: look them up in the service, then retry or discard each";
    await expect.poll(async () => (await outbox([...where(), "hold"])).out).toBe(held);
    expect(await holding()).toEqual({ held: 0 });

    await using stage = await Stage.open(() => open());
    stage.start();
    expect(await stage.delivery.deliverNext()).toBe(later.id);
    await stage.empty();
    const [letter] = await stage.outbox.deadLetters.list();
    expect(letter).toMatchObject({ id: payment.id, reason: "unconfirmed", code: "ERR_HELD", attempts: 2 });
    expect(await stage.outbox.deadLetters.retry(payment.id)).toBe(true);
    expect((await stage.delivery.next()).live.history.maybeTaken).toBe(true);
  });

  async function startHost(service: Shop, ...options: Parameters<typeof open>) {
    return startTracker({ baseUrl: service.url, outbox: await open(...options) });
  }

  /**
   * Puts back a copy that was made while payments waited and others were being reported; all of
   * them were delivered since.
   */
  async function restoreOldBackup(service: Shop): Promise<void> {
    // What it has claimed in the copy is its own until its lease ends.
    const tracker = await startHost(service, { leaseMs: 3_000 });
    await report(tracker, "before", REPORTED);
    await expect.poll(() => service.taken.length).toBe(TAKEN_FIRST);
    const [restore] = await Promise.all([backUp(), report(tracker, "meanwhile", MEANWHILE)]);
    service.open();
    await expect.poll(() => tracker.stats().queued, { timeout: 60_000 }).toBe(0);
    expect(tracker.stats().dead.unconfirmed).toBe(0);
    await tracker.close();
    expect(new Set(service.taken).size).toBe(REPORTED + MEANWHILE);
    await restore();
  }

  /** On a server, what an ended process has claimed is its own until its lease is over. */
  async function holding(): Promise<{ held: number }> {
    for (;;) {
      const { code, json } = await jsonOf([...where(), "hold"]);
      if (code === 0) return json;
      expect(json.error.code).toBe("ERR_AFFILIATE_OUTBOX_RUNNING");
    }
  }
}

type Shop = Awaited<ReturnType<typeof shopService>>;

/** A service that takes some payments, and then no more until it is opened. */
async function shopService() {
  const taken: string[] = [];
  let isOpen = false;
  const { url } = await startService(({ body }, res) => {
    const takes = isOpen || taken.length < TAKEN_FIRST;
    if (takes) taken.push(body.customerEmail);
    res.writeHead(takes ? 201 : 503, { "content-type": "application/json" }).end(`{"success":${takes}}`);
  });
  return {
    url,
    taken,
    open() {
      isOpen = true;
    },
  };
}

async function report(tracker: ReturnType<typeof startTracker>, name: string, number: number) {
  for (let nth = 0; nth < number; nth++) {
    const id = `${name}-${nth}`;
    const payment = { paymentId: id, customerEmail: `${id}@shop.example`, leadValue: 10 };
    expect(await tracker.trackPayment(payment, { clickId: id })).toMatchObject({ outcome: "queued" });
  }
}

function twiceIn(emails: readonly string[]): string[] {
  return emails.filter((email, nth) => emails.indexOf(email) !== nth);
}
