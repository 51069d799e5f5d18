import { diskOutbox } from "express-affiliate/disk";
import { describe, expect, it } from "vitest";
import { notBeforeOf } from "../../../src/conversion/events.js";
import { sample, sampleOf, scheduledSample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { diskOf } from "../../helpers/disk-store.js";
import { HOUR_MS } from "../../helpers/times.js";
import { directoryWith, jsonOf, outbox } from "./helpers.js";

describe("person", () => {
  it("lists the events of an address, masked, and with --json whole", async () => {
    const visitor = stranger();
    const [click, paid] = [sample("click", visitor), sampleOf("Ada@shop.example", "payment", visitor)];
    const dead = sampleOf("ada@shop.example", "registration");
    const directory = await directoryWith({ waiting: [click, paid, sample("payment")], dead: [dead] });

    const { code, out } = await outbox([directory, "person", "ADA@shop.example"]);
    expect(code).toBe(0);
    const lines = out.split("\n");
    const listed = [`${click.id}  click  waiting`, `${paid.id}  payment  waiting`];
    const all = [...listed, `${dead.id}  registration  dead`].sort();
    expect(lines.filter((line) => /^[0-9a-f]{32}/.test(line)).sort()).toEqual(all);
    expect(out).toContain("A***@shop.example");
    expect(out).not.toContain("Ada@");

    const { json } = await jsonOf([directory, "person", "ada@shop.example"]);
    expect(json.events).toHaveLength(3);
    const waiting = { id: paid.id, event: paid.data, state: "waiting" };
    expect(json.events).toContainEqual(expect.objectContaining(waiting));
  });

  it("erases them with --erase, and still knows them", async () => {
    const [own, other] = [sampleOf("ada@shop.example", "payment"), sample("payment")];
    const directory = await directoryWith({ waiting: [own, other] });

    const ada = [directory, "person", "ada@shop.example"];
    expect(await jsonOf([...ada, "--erase"])).toEqual({ code: 0, json: { erased: 1, events: [] } });
    expect((await outbox([...ada, "--erase"])).out).toMatch(/0 events erased, and sent no more; their ids/);
    expect((await outbox(ada)).out).toBe("ok      no event with this address");
    await using stage = await Stage.open(() => diskOutbox({ directory }));
    expect(await stage.outbox.add(own)).toBe("duplicate");
    await stage.holds(1);
    const disk = diskOf({}, directory);
    const days = disk.db.prepare("select (max(at_ms) - created_at) / 86400000 as days from events");
    expect(days.get()).toEqual({ days: 30 });
  });
});

it("status and list tell how many payments are scheduled, and for when", async () => {
  const [first, second] = [scheduledSample(HOUR_MS), scheduledSample(2 * HOUR_MS)];
  const directory = await directoryWith({ waiting: [second, first] });
  const says = `ok      2 payments scheduled by \`notBefore\`, the first for ${new Date(notBeforeOf(first) ?? 0).toISOString()}`;
  for (const action of ["status", "list"]) {
    expect((await outbox([directory, action])).out.split("\n")).toContain(says);
    const { json } = await jsonOf([directory, action]);
    expect(json.scheduled).toEqual({ count: 2, nextInMs: expect.any(Number) });
    expect(json.scheduled.nextInMs).toBeLessThanOrEqual(HOUR_MS);
  }
  expect((await outbox([directory, "status"])).out).toContain("ok      nothing waits");
});
