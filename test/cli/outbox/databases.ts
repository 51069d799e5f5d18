import type { Outbox } from "express-affiliate";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { DESTINATION, sample } from "../../contract/samples.js";
import { REJECTED, Stage } from "../../contract/stage.js";
import { answering, faultyService } from "../../helpers/faulty-service.js";
import { pay } from "../../helpers/pay.js";
import { startTracker } from "../../helpers/tracker.js";
import { jsonOf, outbox } from "./helpers.js";
import { type Restorable, testRestore } from "./restore.js";

/** Where an outbox is. */
export interface Storage {
  readonly storage: Outbox["name"];
  /** How the command line names the newest outbox. */
  here(): readonly string[];
  create(): Outbox | Promise<Outbox>;
}

export interface Database extends Omit<Storage, "here"> {
  /** How a URL may begin. */
  readonly schemes: readonly [string, string];
  url(): string;
  /** Names the tables of the newest outbox, or others. */
  tables(name?: string): readonly string[];
  reopen(options?: { leaseMs: number }): Promise<Outbox>;
  /** Tables that are not there, and what is said of them. */
  readonly missing: { readonly name: string; readonly says: RegExp; readonly code: string };
  tablesNamedMissing(): Promise<readonly unknown[]>;
  /** What may stand in a URL after the user: right, or wrong in some way. */
  places(): readonly string[];
  readonly backUp: Restorable["backUp"];
}

/** Each action says that there is no outbox here. */
export async function expectMissing(here: readonly string[], missing: { says: RegExp; code: string }) {
  for (const words of ["status", "list", "retry --all", "discard --all --yes"]) {
    const args = [...here, ...words.split(" ")];
    const { code, out, err } = await outbox(args);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(missing.says);
    expect(await jsonOf(args)).toEqual({ code: 1, json: { error: { code: missing.code, message: err } } });
  }
}

/** The command `outbox` with an outbox of any kind. */
export function testStorage({ storage, here, create }: Storage): void {
  it("is shown, and decided about, if its host is not running", async () => {
    await using stage = await Stage.open(create);
    const dead = [sample("payment"), sample("registration"), sample("click")] as const;
    await stage.giveUp(dead.slice(0, 2), { ...REJECTED, message: "not Ann O'Neill <ann@shop.example>" });
    await stage.giveUp(dead.slice(2), { reason: "unconfirmed", code: "ECONNRESET", attempts: 1 });
    await stage.pause();
    await stage.add(sample("click"));
    await stage.close();

    expect(await outbox([...here(), "status"])).toEqual({
      code: 0,
      out: expect.stringMatching(
        /^ok {6}1 event queued, the oldest since .*Z\nok {6}1 event for client id 42\nnote {4}3 dead letters: 2 rejected, 1 unconfirmed$/,
      ),
      err: "",
    });
    expect(await jsonOf([...here(), "status"])).toEqual({
      code: 0,
      json: {
        outbox: storage,
        queued: 1,
        oldestMs: expect.any(Number),
        scheduled: { count: 0, nextInMs: null },
        byDestination: { [DESTINATION]: 1 },
        dead: { rejected: 2, unconfirmed: 1, expired: 0 },
        trouble: null,
      },
    });

    const { out } = await outbox([...here(), "list", "--limit", "2"]);
    expect(out.match(/[0-9a-f]{32}/g)).toEqual([dead[0].id, dead[1].id]);
    expect(out).toContain("422 Unprocessable Entity: not Ann O'Neill <***@shop.example>\n");
    expect(out).not.toContain("ann@");
    expect(out.split("\n").at(-1)).toBe("note    there are more: --limit N lists them");
    const letters = [{ event: dead[0].data }, { event: dead[1].data }, { reason: "unconfirmed" }];
    expect((await jsonOf([...here(), "list", "--limit", "2"])).json.more).toBe(true);
    for (const all of [["--limit", "3"], []]) {
      const { json } = await jsonOf([...here(), "list", ...all]);
      expect(json).toMatchObject({ deadLetters: letters, more: false });
    }

    expect(await outbox([...here(), "retry", dead[0].id, "unknown", dead[0].id])).toEqual({
      code: 1,
      out: "ok      1 queued again; delivered by the host's own process\nWRONG   there is no dead letter with the id unknown",
      err: "",
    });
    const retried = { retried: 0, notFound: [dead[0].id] };
    expect(await jsonOf([...here(), "retry", dead[0].id])).toEqual({ code: 1, json: retried });
    expect(await outbox([...here(), "discard", dead[1].id, dead[0].id])).toMatchObject({
      code: 1,
      out: `ok      1 dead letter discarded\nWRONG   there is no dead letter with the id ${dead[0].id}`,
    });
    expect(await outbox([...here(), "retry", "--all", "--reason", "unconfirmed"])).toMatchObject({
      code: 0,
      out: "ok      1 queued again; delivered by the host's own process",
    });
    expect((await jsonOf([...here(), "status"])).json.queued).toBe(3);
    const none = { code: 0, out: "ok      no dead letters" };
    for (const action of ["list", "retry --all", "discard --all --yes"])
      expect(await outbox([...here(), ...action.split(" ")])).toMatchObject(none);
  });

  it("has a host that delivers what was retried", async () => {
    const service = await faultyService({ onRequest: answering(422) });
    const tracker = startTracker({ baseUrl: service.url, outbox: await create() });
    await pay(tracker);
    await expect.poll(() => tracker.stats().dead.rejected).toBe(1);
    service.onRequest = answering(200);

    expect((await jsonOf([...here(), "retry", "--all"])).json).toEqual({ retried: 1, notFound: [] });

    await expect.poll(() => tracker.stats().delivered).toBe(1);
    expect(service.requests).toHaveLength(2);
    expect(tracker.stats().trouble).toBeUndefined();
    expect((await jsonOf([...here(), "status"])).json).toMatchObject({ queued: 0, dead: { rejected: 0 } });
  });
}

/** The same with one in a database. */
export function testDatabase(database: Database): void {
  const here = (name?: string) => [database.url(), ...database.tables(name)];
  testStorage({ ...database, here });

  it("is found by an address in the environment, under either name", async () => {
    await (await database.create()).close();
    for (const scheme of database.schemes) {
      const env = { DATABASE_URL: database.url().replace(/^\w+/, scheme) };
      const args = ["--url-env", "DATABASE_URL", "status", ...database.tables()];
      expect(await outbox(args, { env })).toMatchObject({ code: 0, err: "" });
    }
  });

  it("is not made if it is missing", async () => {
    await expectMissing(here(database.missing.name), database.missing);
    expect(await database.tablesNamedMissing()).toEqual([]);
  });

  it("shows no password, whatever is wrong", async () => {
    const printed = vi.spyOn(console, "error");
    for (const url of database.places().flatMap((place) => urlsWith(database.schemes, place))) {
      for (const flags of [[], ["--json"]]) {
        const { out, err } = await outbox([url, "status", ...flags]);
        expect(out + err).not.toMatch(/qZ7|7Zq/);
      }
    }
    expect(printed).not.toHaveBeenCalled();
  });

  describe("that is restored", () => {
    beforeEach(async () => {
      await (await database.create()).close();
    });

    testRestore({
      open: database.reopen,
      where: () => here(),
      refuses: /nothing was held: stop all of them first, or wait \d+ s if none runs/,
      backUp: database.backUp,
    });
  });
}

/** Such as no message has by chance. The property of any password is in passwords.test.ts. */
const ODD = ["%@ü\\:", " +\"'&=", "[{|^`~", "/?#"];

function urlsWith([scheme, other]: Database["schemes"], place: string): string[] {
  return ODD.map((odd) => `qZ7${odd}7Zq`).flatMap((secret) => [
    `${scheme}://shop:${encodeURIComponent(secret)}@${place}`,
    `${scheme}://shop:${secret}@${place}`,
    `${other}://${place}?user=shop&password=${encodeURIComponent(secret)}`,
    `${scheme}://${place}?user=shop&password=${secret}`,
    `${scheme}://shop:${secret}@[${place}`,
  ]);
}
