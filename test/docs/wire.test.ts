import express from "express";
import { recordingOutbox } from "express-affiliate/testing";
import { expect, it, onTestFinished } from "vitest";
import { order } from "../helpers/conversions.js";
import { textOf } from "../helpers/docs/pages.js";
import { pageToRun } from "../helpers/docs/run.js";
import { serve } from "../helpers/express.js";
import { startService } from "../helpers/service.js";
import { startTracker } from "../helpers/tracker.js";

const page = textOf("docs/wire.md");
const rows = [...page.matchAll(/^\| (`.+`) \| ([\d,]+) \| (\w+)/gm)].flatMap(
  ([, names = "", longest = "", becomes = ""]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => ({
      name,
      longest: Number(longest.replace(",", "")),
      becomes,
    })),
);

const least = {
  click: { affiliateReference: "ALICE" },
  registration: { email: "ada@shop.example" },
  payment: { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 1 },
};
const fieldsOf = {
  click: ["affiliateReference", "clickId", "sessionId", "clickedUrl", "referrerUrl", "userAgent", "source"],
  registration: ["email", "customerId", "customerName"],
  payment: ["paymentId", "customerEmail"],
};

it("docs/wire.md names the paths that are called, and the fields that are sent", async () => {
  const { url, received } = await startService(({ method }) =>
    method === "GET" ? { sessionId: "s1", hasAffiliate: false } : { success: true },
  );
  const { client } = startTracker({ baseUrl: url });
  await client.click({
    ...{ affiliateReference: "ALICE", clickId: "c1", sessionId: "s1", source: "letter" },
    ...{ clickedUrl: "https://shop.example/", referrerUrl: "https://blog.example/", userAgent: "Firefox" },
  });
  await client.registration({ clickId: "c1", email: "a@b", customerId: "1", customerName: "Ada" });
  await client.registrationLead({ customerEmail: "a@b", customerName: "Ada", sessionId: "s1" });
  await client.paymentLead({ customerEmail: "a@b", leadValue: 1, sessionId: "s1" });
  await client.status("{sessionId}");

  const cells = /^\| [^|]+ \| `(\w+) (\/api\/\S+)` \| (.*) ?\|$/gm;
  const named = [...page.matchAll(cells)].map(([, method, path, fields = ""]) => ({
    ...{ method, path },
    fields: [...fields.matchAll(/`(\w+)`/g)].map(([, field]) => field),
  }));
  expect(named).toEqual(
    received.map(({ method, path, body = {} }) => ({
      ...{ method, path: decodeURIComponent(path) },
      fields: Object.keys(body),
    })),
  );
});

it("docs/wire.md has a row for each text of an event", () => {
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.values(fieldsOf).flat().sort());
});

it.each(rows)("docs/wire.md says what becomes of a long $name", async ({ name, longest, becomes }) => {
  const outbox = recordingOutbox();
  const { trackClick, trackRegistration, trackPayment } = startTracker({ outbox });
  const track = { click: trackClick, registration: trackRegistration, payment: trackPayment };
  const kinds = Object.keys(fieldsOf) as (keyof typeof fieldsOf)[];
  const kind = kinds.find((each) => fieldsOf[each].includes(name)) as keyof typeof fieldsOf;
  const attribution = kind === "click" ? undefined : { sessionId: "s1" };
  const isAddress = /email/i.test(name);
  const report = (length: number) => {
    const text = isAddress ? `${"x".repeat(length - 2)}@b` : "x".repeat(length);
    // One of the kinds, whose fields the types cannot tell apart here.
    return track[kind]({ ...least[kind], [name]: text } as never, attribution);
  };
  const lengths = () => outbox.events.map(({ data }) => new Map(Object.entries(data)).get(name)?.length);

  expect(await report(longest)).toMatchObject({ outcome: "queued" });
  expect(lengths()).toEqual([longest]);
  outbox.events.length = 0;
  const { outcome } = await report(longest + 1);
  expect(outcome).toBe(becomes === "refused" ? "rejected" : "queued");
  if (becomes === "cut") expect(lengths()).toEqual([longest]);
  else for (const length of lengths()) expect(length).not.toBe(longest + 1);
});

it("a proxy before a service that differs gives it the payment in its own words, and the tracker its answer", async () => {
  let isLost = false;
  const service = await startService((_request, res) => {
    if (isLost) return void res.destroy();
    res.statusCode = 201;
    return { ok: true };
  });
  process.env.SERVICE_URL = service.url;
  onTestFinished(() => void delete process.env.SERVICE_URL);
  const { payment } = await pageToRun("docs/wire.md").run("If your service differs");
  const { port } = await serve(express().use(express.json()).post("/api/v1/tracking/lead/payment", payment));
  const baseUrl = `http://127.0.0.1:${port}`;
  const tracker = startTracker({ baseUrl, apiKey: "key", confirmReferral: "never" });
  const report = (paymentId: string) =>
    tracker.trackPayment({ ...order, paymentId }, { sessionId: paymentId });
  await report("s1");
  await tracker.flush();
  expect(service.posted).toMatchObject([
    {
      path: "/v2/conversions",
      headers: { authorization: "Bearer key", "idempotency-key": expect.stringMatching(/\w{16}/) },
      body: { email: "ada@shop.example", cents: 1990, visitor: "s1" },
    },
  ]);
  isLost = true;
  const dead = new Promise((resolve) => tracker.on("dead", resolve));
  await report("s2");
  expect(await dead).toMatchObject({ reason: "unconfirmed" });
});
