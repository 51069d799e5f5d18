import express, { type Request, type RequestHandler, type Response } from "express";
import { type Affiliate, memoryOutbox, type Notices, type RequestAffiliate } from "express-affiliate";
import session from "express-session";
import { describe, expect, it } from "vitest";
import { doctorCommand } from "../../src/cli/doctor/command.js";
import { REASONS } from "../../src/sandbox/inspector/why.js";
import { runCommand } from "../cli/helpers.js";
import { order as payment, returning, throwing } from "../helpers/conversions.js";
import { rowsOf, textOf } from "../helpers/docs/pages.js";
import { browser, referred, startShop } from "../helpers/docs/run.js";
import { answering, faultyService } from "../helpers/faulty-service.js";
import { pay } from "../helpers/pay.js";
import { startService } from "../helpers/service.js";
import { linesLogger } from "../helpers/tracker.js";
import { startSandbox } from "../sandbox/helpers.js";

const text = textOf("docs/why-not.md");
const ids = { clickId: "c1", sessionId: "s1" };

/** The rows of the table under a heading, each cell without its backticks. */
function rowsUnder(heading: string): string[][] {
  const bare = (cell: string) => cell.replace(/^`([^`]+)`$|^`` ?(.+?) ?``$/, "$1$2");
  return rowsOf(text, heading).map((row) => Object.values(row).map(bare));
}

/** A shop whose log is as a developer sees it. */
async function shopWith(options: Parameters<typeof startShop>[0] = {}) {
  const { debug: _, lines, ...logger } = linesLogger();
  const shop = await startShop({ logger, ...options });
  const { app, tracker } = shop;
  const dropped: Notices["dropped"][] = [];
  tracker.on("dropped", (notice) => dropped.push(notice));
  app.get("/", tracker.onClick(), (_req, res) => void res.send("Welcome"));
  app.post("/", tracker.onPayment(returning(payment)));
  return { ...shop, lines, dropped, visitor: browser(app), referred: () => referred(app) };
}
type Shop = Awaited<ReturnType<typeof shopWith>>;
type Scenario = (shop: Shop) => PromiseLike<unknown>;
type Scenarios = Record<string, [Scenario, Parameters<typeof startShop>[0]?]>;

function expectLine(lines: readonly string[], says: string): void {
  if (says === "") expect(lines).toEqual([]);
  else expect(lines.join("\n")).toContain(says);
}

async function doctor(key: string, ...args: string[]): Promise<string> {
  const all = ["--client-id", "1001", "--api-key-env", "KEY", ...args];
  const { out } = await runCommand(doctorCommand, all, { env: { KEY: key } });
  return out.join("\n");
}

/** Tests that each row says what its reason makes of one report, and that each reason has a row. */
function testReasons(counter: "skipped" | "dropped", heading: string, scenarios: Scenarios): void {
  it.each(rowsUnder(heading))("%s", async (reason = "", says = "") => {
    const [happen, options] = scenarios[reason] ?? [];
    const shop = await shopWith(options);
    await happen?.(shop);
    expect(shop.tracker.stats()[counter]).toMatchObject({ [reason]: 1 });
    expectLine(shop.lines, says);
    if (counter === "skipped") return;
    expect(shop.dropped).toMatchObject([{ reason }]);
    expect(shop.lines.join("\n")).toContain(shop.dropped[0]?.message);
  });

  it("has a row for every reason", async () => {
    const { tracker } = await startShop();
    const reasons = rowsUnder(heading).map(([reason]) => reason);
    expect(reasons.sort()).toEqual(Object.keys(tracker.stats()[counter]).sort());
  });
}

describe("skipped", () => {
  const land = ({ visitor }: Shop, headers = {}) => visitor.get("/?ref=ALICE").set(headers);
  const loggedIn: RequestHandler = (req, _res, next) => {
    Object.assign((req as Request & { session: object }).session, { userId: 7 });
    next();
  };
  const withSession = {
    before: [session({ secret: "s", resave: false, saveUninitialized: false }), loggedIn],
  };
  testReasons("skipped", "Skipped", {
    bot: [(shop) => land(shop, { "User-Agent": "Mozilla/5.0 HeadlessChrome/142.0.0.0 Safari/537.36" })],
    prefetch: [(shop) => land(shop, { "Sec-Purpose": "prefetch" })],
    "not-a-page": [(shop) => land(shop, { Accept: "*/*" })],
    consent: [({ referred }) => referred().post("/"), { consent: (() => "yes") as never }],
    "no-attribution": [({ visitor }) => visitor.post("/")],
    "not-referred": [
      async ({ visitor, tracker }) => {
        await visitor.get("/");
        await visitor.post("/");
        await tracker.flush();
      },
      withSession,
    ],
    zero: [({ tracker }) => tracker.trackPayment({ ...payment, leadValue: 0 }, ids)],
    disabled: [({ referred }) => referred().post("/"), { enabled: false }],
  });

  it("says every case at the level debug, in production too", async () => {
    const lines: string[] = [];
    const logger = { debug: (line: string) => lines.push(line), warn() {}, error() {} };
    const { tracker } = await startShop({ logger, enabled: false });
    for (const paymentId of [1, 2]) await pay(tracker, paymentId);
    expect(lines).toEqual(Array(2).fill("express-affiliate: a payment was skipped: disabled"));
  });
});

describe("unreported", () => {
  const later = (_req: Request, res: Response) => void setImmediate(() => res.end());
  const catchAsync =
    (handler: RequestHandler): RequestHandler =>
    (req, res, next) =>
      void Promise.resolve(handler(req, res, next)).catch(next);
  const scenarios: Record<string, (tracker: Affiliate) => RequestHandler> = {
    "the handler returns nothing": (tracker) => tracker.onPayment(returning(undefined)),
    "it returns the response": (tracker) => tracker.onPayment((_req, res) => res.json({})),
    "the `return` is within a callback": (tracker) => tracker.onPayment(later),
    "a wrapper such as `catchAsync` discards it": (tracker) =>
      tracker.onPayment(
        catchAsync(async (_req, res) => {
          await new Promise(setImmediate);
          res.end();
          return payment as never;
        }) as (req: Request, res: Response) => undefined,
      ),
    "it calls `next()`": (tracker) => tracker.onPayment((_req, _res, next) => next()),
    "`pick` returns nothing": (tracker) => tracker.onPayment(returning(1), () => undefined),
  };

  it.each(rowsUnder("Unreported"))("%s", async (because = "", says = "") => {
    const { app, tracker, referred, lines } = await shopWith();
    const handler = scenarios[because]?.(tracker);
    expect(handler).toBeDefined();
    app.post("/wrapped", handler as RequestHandler, (_req, res) => void res.end());
    for (let visit = 1; visit <= 2; visit++) {
      await referred().post("/wrapped").expect(200);
      await expect.poll(() => tracker.stats().unreported).toEqual({ registration: 0, payment: visit });
    }
    expect(lines).toEqual([expect.stringContaining(says)]);
  });

  it("is not what reports as the page says", async () => {
    const { app, tracker, referred, lines } = await shopWith();
    app.post(
      "/callback",
      tracker.onPayment((req, res) => {
        setImmediate(() => {
          res.end();
          void req.affiliate.trackPayment(payment);
        });
      }),
    );
    app.post("/within", catchAsync(tracker.onPayment(returning({ ...payment, paymentId: "o2" }))));
    for (const path of ["/callback", "/within"]) await referred().post(path).expect(200);
    await expect.poll(() => tracker.stats().delivered).toBe(2);
    expect(tracker.stats().unreported).toEqual({ registration: 0, payment: 0 });
    expect(lines).toEqual([]);
  });
});

it.each(["cookies are set for the domain", "two trackers' `onClick`"])(
  "no cookie, and a warning in the log: %s",
  async (says) => {
    expect(text).toContain(says);
    const { app, tracker, lines, visitor } = await shopWith();
    const { tracker: other } = await startShop();
    app.get(
      "/two",
      other.onClick(),
      tracker.onClick({ domain: "elsewhere.example" }),
      (_req, res) => void res.end(),
    );
    await visitor.get("/two?ref=ALICE");
    expectLine(lines, says);
  },
);

describe("nothing is counted", () => {
  const wrapped = (handler: (req: Request, res: Response) => typeof payment | undefined, answer = 200) => {
    return ({ app, tracker, referred }: Shop) => {
      app.post("/wrapped", tracker.onPayment(handler));
      app.use(((_error, _req, res, _next) => void res.sendStatus(500)) as express.ErrorRequestHandler);
      return referred().post("/wrapped").expect(answer);
    };
  };
  const opened =
    (...addresses: string[]): Scenario =>
    async ({ visitor }) => {
      for (const address of addresses) await visitor.get(address);
    };
  const scenarios: Record<string, Scenario> = {
    "the response is an error": wrapped(returning(payment, 402), 402),
    "the handler throws": wrapped(throwing("no stock"), 500),
    "the route is not wrapped, or another one answered": async ({ app, tracker, referred }) => {
      app.post("/answered", (_req, res) => void res.end());
      app.post("/answered", tracker.onPayment(returning(payment)));
      await referred().post("/answered").expect(200);
    },
    "the route is above `app.use(tracker)`, so `req.affiliate` is `undefined`: mount the tracker first, wrap the handler, or pass `tracker.attributionOf(req)` to `tracker.trackPayment`":
      async ({ tracker }) => {
        const app = express();
        app.post("/", (req, res) => {
          void req.affiliate?.trackPayment(payment);
          res.end();
        });
        app.use(tracker);
        await browser(app).get("/nothing").expect(404);
        await referred(app).post("/").expect(200);
      },
    "`tracker.onClick`, `tracker.onPayment` or `affiliate` is passed to Express without a call": async ({
      app,
      tracker,
      referred,
    }) => {
      app.post("/uncalled", tracker.onPayment as never, (_req, res) => void res.end());
      await referred().post("/uncalled").expect(200);
    },
    "the landing page has no `?ref=…`, or was posted to": async ({ app, visitor, tracker }) => {
      app.post("/landing", tracker.onClick(), (_req, res) => void res.end());
      await opened("/")({ visitor } as Shop);
      await visitor.post("/landing?ref=ALICE").expect(200);
    },
    "`?ref=…` has two values, or one that is [no reference](attribution.md#references)": opened(
      "/?ref=ALICE&ref=BEN",
      "/?ref=M%FCLLER",
    ),
    'the visitor opened a link of the same affiliate within the last hour, or has a click id and `attribution` is `"first"`':
      async (shop) => {
        const { app, tracker, sandbox } = shop;
        app.get("/first", tracker.onClick({ attribution: "first" }), (_req, res) => void res.end());
        await opened("/?ref=ALICE")(shop);
        await tracker.flush();
        expect(sandbox.ledger.clicks()).toHaveLength(1);
        await opened("/?ref=ALICE", "/first?ref=BEN")(shop);
      },
    "`onClick` is not mounted for the page, or below what answers it": async ({ app, visitor }) => {
      app.get("/pricing", (_req, res) => void res.end());
      await opened("/pricing?ref=ALICE")({ visitor } as Shop);
    },
  };

  it.each(rowsUnder("Nothing is counted"))("%s", async (because = "", says = "") => {
    const shop = await shopWith();
    expect(scenarios).toHaveProperty([because]);
    await scenarios[because]?.(shop);
    await shop.tracker.flush();
    const { delivered, skipped, dropped, duplicates } = shop.tracker.stats();
    const isReload = because.includes("within the last hour");
    expect({ delivered, duplicates }).toEqual({ delivered: isReload ? 1 : 0, duplicates: 0 });
    expect(Object.values({ ...skipped, ...dropped }).every((number) => number === 0)).toBe(true);
    const [line = ""] = /(?<=^`)[^`]+/.exec(says) ?? [says];
    expectLine(shop.lines, line.startsWith("nothing of this package's") ? "" : line);
  });

  it("has the error that a developer sees if a route above the tracker calls `req.affiliate.trackPayment`", async () => {
    const app = express();
    app.post("/", (req) =>
      (req as unknown as { affiliate: RequestAffiliate }).affiliate.trackPayment(payment),
    );
    app.use(((error: Error, _req, res, _next) => {
      res.status(500).send(error.message);
    }) as express.ErrorRequestHandler);
    const { text: message } = await browser(app).post("/").expect(500);
    const [row = []] = rowsUnder("Nothing is counted").filter(([because]) =>
      because?.startsWith("the route is above"),
    );
    expect(row[1]).toContain(`\`${message}\``);
    expect(row[0]).toContain("mount the tracker first, wrap the handler");
  });
});

describe("dropped", () => {
  testReasons("dropped", "Dropped", {
    invalid: [({ tracker }) => tracker.trackPayment({ ...payment, leadValue: -5 }, ids)],
    pick: [
      async ({ app, tracker, referred }) => {
        app.post("/picked", tracker.onPayment(returning(1), throwing("no order")));
        await referred().post("/picked");
        await expect.poll(() => tracker.stats().dropped.pick).toBe(1);
      },
    ],
    closed: [
      async ({ tracker }) => {
        await tracker.close();
        await tracker.trackPayment(payment, ids);
      },
    ],
    outbox: [({ tracker }) => tracker.trackRegistration({ email: "a@b.example" }, ids, { transaction: {} })],
    "visitor-full": [
      async ({ tracker, sandbox }) => {
        await sandbox.fail("down");
        const click = { affiliateReference: "ALICE" };
        for (let nth = 0; nth < 101; nth++) await tracker.trackClick({ ...click, clickId: `c${nth}` }, ids);
      },
    ],
    "dead-letters-full": [
      async ({ tracker, sandbox }) => {
        await sandbox.fail("reset-after");
        for (const paymentId of [1, 2]) await tracker.trackPayment({ ...payment, paymentId }, ids);
        await expect.poll(() => tracker.stats().dropped["dead-letters-full"]).toBe(1);
      },
      { outbox: memoryOutbox({ maxDeadLetters: 1 }) },
    ],
    full: [
      async ({ tracker, sandbox }) => {
        await sandbox.fail("down");
        const click = { affiliateReference: "ALICE" };
        await tracker.trackPayment(payment, ids);
        await tracker.trackClick(click, { clickId: "c2" });
      },
      { outbox: memoryOutbox({ maxEvents: 1 }) },
    ],
  });

  it("says each invalid payment in a notice, and one of them a minute in the log", async () => {
    const { tracker, dropped, lines } = await shopWith();
    const orders = ["o1", "o2"];
    for (const paymentId of orders) await tracker.trackPayment({ ...payment, paymentId, leadValue: -5 }, ids);
    const message = expect.stringContaining("`leadValue`");
    expect(dropped).toMatchObject(orders.map((hostId) => ({ hostId, message })));
    expect(lines).toEqual([expect.stringContaining('the payment "o1" was dropped')]);
  });
});

describe("it waits", () => {
  const services: Record<string, () => Promise<string>> = {
    "the key is wrong": async () => (await startSandbox({ requireKeyFor: ["paymentLead", "status"] })).url,
    "the address is wrong": async () => `${(await startSandbox()).url}/elsewhere`,
    "the service is down": async () => {
      const sandbox = await startSandbox();
      await sandbox.fail("down");
      return sandbox.url;
    },
  };

  const rows = rowsUnder("It waits");
  it.each(rows.filter(([because = ""]) => because in services))(
    "because %s",
    async (because = "", counted = "", says = "", doctorSays = "") => {
      const baseUrl = (await services[because]?.()) as string;
      const shop = await shopWith({ baseUrl, apiKey: "wrong-key" });
      for (let nth = 0; nth < 20; nth++) await pay(shop.tracker, nth);
      const [, reason] = /with the reason `(\w+)`/.exec(counted) ?? [];
      expect(reason).toBeDefined();
      await expect.poll(() => shop.tracker.stats().endpoints["lead/payment"]).toMatchObject({ reason });
      expectLine(shop.lines, says);
      expect(await doctor("wrong-key", "--base-url", baseUrl)).toContain(doctorSays);
    },
  );

  it("because an earlier event of the visitor is not delivered", async () => {
    const { url: baseUrl, received } = await startService(({ path }, res) => {
      if (path.endsWith("/click")) res.statusCode = 500;
      return { success: true };
    });
    const shop = await shopWith({ baseUrl });
    await shop.tracker.trackClick({ affiliateReference: "ALICE" }, ids);
    await shop.tracker.trackPayment(payment, ids);
    await expect.poll(() => shop.tracker.stats().retried).toBeGreaterThan(0);
    expect(shop.tracker.stats().queued).toBe(2);
    expect(received.filter(({ path }) => path.endsWith("/payment"))).toEqual([]);
    expectLine(shop.lines, rows[3]?.[2] ?? "no such row");
  });

  it("because a payment was refused", async () => {
    const { url: baseUrl } = await faultyService({ onRequest: answering(422, {}) });
    const shop = await shopWith({ baseUrl });
    await shop.tracker.trackPayment(payment, ids);
    await shop.tracker.flush();
    expect(shop.tracker.stats().dead.rejected).toBe(1);
    expectLine(shop.lines, rows[4]?.[2] as string);
  });

  it("has a test for every row", () => {
    expect(rows.map(([because]) => because)).toEqual([
      ...Object.keys(services),
      "a visitor's earlier event is not delivered yet",
      "a payment may have been taken, or was refused",
    ]);
  });
});

describe("reported, and not linked", () => {
  const click = (tracker: Affiliate, sessionId: string, reference = "ALICE") =>
    tracker.client.click({ affiliateReference: reference, clickId: `of-${sessionId}`, sessionId });
  const scenarios: Record<string, (tracker: Affiliate) => Promise<unknown>> = {
    "no-click-with-this-click-id": (tracker) => tracker.trackRegistration({ email: "a@b.example" }, ids),
    "no-click-with-this-session-id": (tracker) => tracker.trackPayment(payment, ids),
    "no-session-id": (tracker) => tracker.trackPayment(payment, { clickId: "c1" }),
    "click-came-after": async (tracker) => {
      await tracker.trackPayment(payment, ids);
      await tracker.flush();
      await click(tracker, "s1");
    },
    "another-visitors-click": async (tracker) => {
      await click(tracker, "s1");
      await tracker.client.registrationLead({ customerEmail: "bo@shop.example", sessionId: "s1" });
      await tracker.client.registrationLead({ customerEmail: payment.customerEmail, sessionId: "s9" });
      await tracker.trackPayment(payment, ids);
    },
  };
  const words = Object.entries(REASONS);

  it.each(words)("%s", async (reason, says) => {
    const { tracker, sandbox } = await shopWith();
    await scenarios[reason]?.(tracker);
    await tracker.flush();
    expect(sandbox.ledger.leads().at(-1)).toMatchObject({ notLinked: reason, affiliateReference: null });
    expect(rowsUnder("Reported, and not linked").map(([cell]) => cell)).toContain(says);
  });

  it("has a row for everything that the sandbox's page says, and no other", () => {
    expect(rowsUnder("Reported, and not linked")).toHaveLength(words.length);
    expect(words.map(([reason]) => reason).sort()).toEqual(Object.keys(scenarios).sort());
  });

  it("shows at the doctor", async () => {
    const { sandbox } = await startShop();
    const out = await doctor(sandbox.apiKey, "--base-url", sandbox.url, "--session", "s1");
    const [, says = ""] = /then says `(is attributed [^`]+)`/.exec(text) ?? [];
    expect(says).not.toBe("");
    expect(out).toContain(`session s1 ${says}`);
  });
});

it("docs/why-not.md has an answer for every number of `stats()` that says something", async () => {
  const { tracker } = await startShop();
  const [, table = ""] = text.split("Look at the numbers first");
  const named = [...(table.split("\n\n")[0] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name);
  const all = Object.keys(tracker.stats());
  expect(all).toEqual(expect.arrayContaining(named));
  expect(named).toEqual(
    expect.arrayContaining(["skipped", "dropped", "duplicates", "queued", "dead", "delivered"]),
  );
});
