import cookieParser from "cookie-parser";
import cookieSession from "cookie-session";
import type { ErrorRequestHandler, Express, Request, RequestHandler } from "express";
import type { AffiliateOptions } from "express-affiliate";
import session from "express-session";
import fc from "fast-check";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { loginSessionId } from "../../src/conversion/visitor-ids.js";
import { order, throwing } from "../helpers/conversions.js";
import { eachExpress, serve } from "../helpers/express.js";
import { times } from "../helpers/for-any.js";
import { sentBack, visitorOf } from "../helpers/landing.js";
import { trackerWithService } from "../helpers/tracker.js";

const VISITOR_ID = /^(?!\.{1,2}$)[\x21-\x7e]{1,256}$/;

// The session middlewares themselves fail on some cookies of their own, before the tracker sees the
// request.
const FAILED_BEFORE_US = 418;

const quietly: RequestHandler = (_req, _res, next) => next();
const expressSession = (saveUninitialized: boolean) =>
  session({ secret: "s", resave: false, saveUninitialized, store: new session.MemoryStore() });

const parsers: [string, RequestHandler][] = [
  ["no cookie-parser", quietly],
  ["the host's cookie-parser", cookieParser()],
  ["the host's cookie-parser with a secret", cookieParser("secret")],
];
const sessions: [string, RequestHandler][] = [
  ["no session", quietly],
  ["express-session, saveUninitialized", expressSession(true)],
  ["express-session, not saveUninitialized", expressSession(false)],
  ["cookie-session", cookieSession({ keys: ["k"] })],
];
const setups = parsers.flatMap(([cookies, parser]) =>
  sessions.map(([name, session]) => ({ cookies, parser, sessions: name, session })),
);

const headerByte = fc.integer({ min: 0x20, max: 0xff }).filter((c) => c !== 0x7f);
const id = fc.stringMatching(/^[\x21-\x7e]{1,20}$/);
const plainId = fc
  .stringMatching(/^[A-Za-z0-9_-]{1,256}$/)
  .filter((text) => !["undefined", "null", "NaN"].includes(text));
const cookieName = fc.constantFrom(
  ...["svc_click_id", "svc_session_id", "connect.sid", "session", "__proto__", "constructor", "toString"],
);
const hostileValue = fc.oneof(
  id,
  fc.constantFrom(
    ...['j:{"a":1}', "j:123", "j:[]", "j:null", 'j:{"__proto__":{"clickId":"x"}}', "s:abc.def", "s:"],
    ...["%E0%A4%A", "%00", "%20", '"quoted"', "", " ", ".", "..", "__proto__", "[object Object]"],
    ...["x".repeat(257), "x".repeat(8_000)],
  ),
  fc.string({ unit: headerByte.map((c) => String.fromCharCode(c)), maxLength: 40 }),
);
// Node answers 431 to longer ones itself.
const LONGEST = 15_000;
const hostileHeader = fc.oneof(
  fc
    .array(fc.tuple(cookieName, hostileValue), { maxLength: 4 })
    .map((pairs) => pairs.map((pair) => pair.join("=")).join("; "))
    .filter((header) => header.length < LONGEST),
  fc.string({ unit: headerByte.map((c) => String.fromCharCode(c)), maxLength: 60 }),
);

describe.each(eachExpress)("attribution on $name", ({ express }) => {
  async function appWith(
    options: Partial<AffiliateOptions> = {},
    mount: (app: Express, tracker: RequestHandler) => void = (app, tracker) => void app.use(tracker),
  ) {
    const { tracker, posted, lines } = await trackerWithService(options, () => ({
      success: true,
      hasAffiliate: true,
    }));
    const app = express();
    mount(app, tracker);
    app.get("/peek", (req, res) => {
      res.json(req.affiliate?.snapshot());
    });
    app.use(((_error, req, res, _next) => {
      res.sendStatus(req.affiliate ? 500 : FAILED_BEFORE_US);
    }) as ErrorRequestHandler);
    const { server } = await serve(app);
    const peek = async (cookie = "") => (await request(server).get("/peek").set("Cookie", cookie)).body;
    return { app, server, tracker, peek, posted, lines };
  }

  it.each(setups)(
    "survives hostile cookies, and reads plain ids as they are, with $cookies and $sessions",
    async ({ parser, session }) => {
      const { server, peek } = await appWith({}, (app, tracker) => {
        app.use(parser, session, tracker);
      });
      await times(40).forAnyAsync(hostileHeader, async (header) => {
        const { status, body } = await request(server).get("/peek").set("Cookie", header);
        fc.pre(status !== FAILED_BEFORE_US);
        expect(status).toBe(200);
        for (const found of Object.values(body)) expect(found).toMatch(VISITOR_ID);
      });
      await times(10).forAnyAsync(plainId, plainId, async (clickId, sessionId) => {
        const ids = await peek(`svc_session_id=${sessionId}; svc_click_id=${clickId}`);
        expect(ids).toEqual({ clickId, sessionId });
      });
    },
  );

  it.each<[string, (req: Request) => Request]>([
    ["a proxy", (req) => new Proxy(req, {})],
    ["an object that inherits from it", (req) => Object.create(req)],
  ])("stays that of a request that the host wraps in %s", async (_, wrap) => {
    const { app, server, tracker } = await appWith();
    app.get("/", tracker.onClick(), (req, res) => {
      const wrapped = wrap(req);
      tracker(wrapped, res, () =>
        res.json([req.affiliate, wrapped.affiliate, tracker.attributionOf(wrapped)]),
      );
    });
    const { body } = await visitorOf(server)("/?ref=ALICE");
    expect(body).toEqual(Array(3).fill({ clickId: expect.any(String), sessionId: expect.any(String) }));
    expect(new Set(body.map(JSON.stringify)).size).toBe(1);
  });

  it("takes no id from a cookie that the host's cookie-parser finds signed, and leaves it its work if it is mounted later", async () => {
    const { tracker, peek } = await appWith({ consent: () => true, session: "mine" }, (app, tracker) => {
      app.use(cookieParser("secret"), tracker);
    });
    const Cookie = "svc_click_id=c1; mine=s:x.bad";
    expect(await peek(Cookie)).toEqual({ clickId: "c1" });
    const later = express().use(tracker, (req, _res, next) => next(void req.affiliate?.clickId));
    later.get("/", cookieParser("secret"), ({ affiliate, cookies, signedCookies }, res) => {
      res.json([affiliate?.snapshot(), cookies, signedCookies]);
    });
    const { body } = await request(later).get("/").set("Cookie", Cookie);
    expect(body).toEqual([{ clickId: "c1" }, { svc_click_id: "c1" }, { mine: false }]);
  });

  it.each<[string, unknown]>([
    ["nothing", {}],
    ["other names", { theme: "dark" }],
    ["a map", new Map([["svc_click_id", "wrong"]])],
    ["no own names", Object.create({ svc_click_id: "wrong" })],
    ["a text", "svc_click_id=wrong"],
  ])("reads the header if `req.cookies` is another middleware's, with %s", async (_, cookies) => {
    const { peek } = await appWith({}, (app, tracker) => {
      app.use((req, _res, next) => {
        req.cookies = cookies;
        next();
      }, tracker);
    });
    expect(await peek("svc_click_id=c1; svc_session_id=s1")).toEqual({ clickId: "c1", sessionId: "s1" });
    expect(await peek("xsvc_click_id=c1")).toEqual({});
  });

  it("takes from `session` a string that can be an id, and nothing else", async () => {
    let said: unknown;
    const { peek } = await appWith({ session: () => said as string });
    await times(60).forAnyAsync(fc.anything(), async (anything) => {
      said = anything;
      const usable = typeof anything === "string" && VISITOR_ID.test(anything) && anything !== "null";
      expect(await peek()).toEqual(usable ? { sessionId: anything } : {});
    });
  });

  it.each<[unknown, string?]>([
    ...[undefined, null, "", ".", "..", "a b", "x".repeat(257)].map((said): [unknown] => [said]),
    ...["undefined", "null", "NaN", "[object Object]"].map((text): [unknown, string] => [
      text,
      `the text "${text}"`,
    ]),
    [42, "a number"],
    [{}, "an object"],
    [["s1"], "an array"],
  ])(
    "takes %j for no id, in a cookie and from `session`, and says so once of a mistake",
    async (said, what) => {
      const { peek, lines } = await appWith({ session: () => said as string });
      const isText = typeof said === "string";
      for (let nth = 0; nth < 3; nth++)
        expect(await peek(isText ? `svc_click_id=${encodeURIComponent(said)}` : "")).toEqual({});
      const told = [...(isText ? ["the cookie `svc_click_id`"] : []), "what `session` returned"].map(
        (place) => `express-affiliate: ${place} is ${what}, which is no id; it is ignored`,
      );
      expect(lines).toEqual(what === undefined ? [] : told);
    },
  );

  it.each<[string, (tracker: RequestHandler) => RequestHandler[]]>([
    ["no cookie-parser", (tracker) => [expressSession(false), tracker]],
    ["the host's, which has unsigned it", (tracker) => [cookieParser("s"), expressSession(false), tracker]],
    ["a session that is mounted later", (tracker) => [tracker, expressSession(false)]],
  ])(
    "takes a digest of an express-session that the request brought, and of no other, with %s",
    async (_, mounted) => {
      const { app, server, peek } = await appWith({}, (app, tracker) => void app.use(mounted(tracker)));
      app.get("/login", (req, res) => {
        (req.session as unknown as { user: string }).user = "ada";
        res.json({ id: req.sessionID, seen: req.affiliate?.snapshot() });
      });
      const login = await request(server).get("/login");
      const cookie = sentBack(login);

      expect(login.body.seen).toEqual({});
      expect(await peek(cookie)).toEqual({ sessionId: loginSessionId(login.body.id) });
      expect(await peek()).toEqual({});
      expect(await peek("connect.sid=s%3Aforged.signature")).toEqual({});
      expect(await peek(`${cookie}; svc_session_id=first-party`)).toEqual({ sessionId: "first-party" });
    },
  );

  it("takes a digest of an express-session whose cookie `session` names, too", async () => {
    const { peek } = await appWith({ session: "connect.sid" });
    expect(await peek(`connect.sid=s%3Aan.id.${encodeURIComponent("a/b+".repeat(11).slice(1))}`)).toEqual({
      sessionId: loginSessionId("an.id"),
    });
    for (const sessionId of ["s:1718.4455", "s:visitor1"])
      expect(await peek(`connect.sid=${encodeURIComponent(sessionId)}`)).toEqual({ sessionId });
  });

  it("asks for the referral of a login session, also of its snapshot and of `attributionOf`", async () => {
    const { tracker, posted, received } = await trackerWithService({}, ({ method }) =>
      method === "GET" ? { hasAffiliate: false } : { success: true },
    );
    const app = express().use(expressSession(true), tracker);
    app.post(
      "/",
      tracker.onPayment((req, res) => {
        res.json([req.affiliate.snapshot(), tracker.attributionOf(req)]);
        return { ...order, paymentId: 1 };
      }),
    );
    const cookie = sentBack(await request(app).post("/"));
    const { body } = await request(app).post("/").set("Cookie", cookie);
    const { body: referred } = await request(app).post("/").set("Cookie", `${cookie}; svc_click_id=c1`);
    expect(body).toEqual(Array(2).fill({ sessionId: expect.stringMatching(/^login-[0-9a-f]{64}$/) }));
    expect(referred[0]).toEqual({ ...body[0], clickId: "c1" });
    await tracker.flush();
    for (const [nth, snapshot] of [...body, JSON.stringify(body[0])].entries())
      await tracker.trackPayment({ ...order, paymentId: `renewal-${nth}` }, snapshot);
    await tracker.trackPayment({ ...order, paymentId: "referred" }, referred[0]);
    await tracker.flush();
    expect(received.filter(({ method }) => method === "GET")).toHaveLength(4);
    expect(tracker.stats().skipped["not-referred"]).toBe(4);
    expect(posted.map(({ body }) => body.sessionId)).toEqual([body[0].sessionId]);
  });

  it.each(["/signup", "/direct"])(
    "reports with the session that the visitor came with if the handler regenerates it: %s",
    async (path) => {
      const { app, tracker, posted } = await appWith({}, (app, tracker) => {
        app.use(expressSession(false), tracker);
      });
      const regenerate = (req: Request) =>
        new Promise<void>((resolve, reject) => req.session.regenerate((e) => (e ? reject(e) : resolve())));
      app.get("/basket", (req, res) => {
        (req.session as unknown as { basket: number }).basket = 1;
        res.json(req.sessionID);
      });
      const signup = tracker.onRegistration(async (req, res) => {
        await regenerate(req as Request);
        res.json(req.sessionID);
        return { email: "ada@shop.example", customerId: 1 };
      });
      app.post("/signup", signup);
      app.post("/direct", async (req, res) => {
        await regenerate(req);
        await req.affiliate?.trackRegistration({ email: "ada@shop.example", customerId: 1 });
        res.json(req.sessionID);
      });
      const agent = request.agent(app);
      const { body: before } = await agent.get("/basket");
      expect((await agent.post(path)).body).not.toBe(before);
      await tracker.flush();
      expect(posted.at(-1)?.body).toMatchObject({ sessionId: loginSessionId(before) });
    },
  );

  it("reads, sets and sends nothing without consent", async () => {
    let looked = 0;
    const declined = { consent: () => false, session: () => String(looked++) };
    const { app, server, tracker, posted } = await appWith(declined);
    app.get("/", tracker.onClick(), (_req, res) => void res.json("hello"));
    app.post(
      "/signup",
      tracker.onRegistration((req, res) => {
        res.json(req.affiliate.snapshot());
        return { email: "ada@shop.example" };
      }),
    );
    const landing = await visitorOf(server)("/?ref=ALICE");
    const signup = await request(server).post("/signup").set("Cookie", "svc_click_id=c1");
    await tracker.flush();
    expect([landing.get("Set-Cookie"), signup.body, posted, looked]).toEqual([undefined, {}, [], 0]);
    expect(tracker.stats().skipped.consent).toBe(2);
  });

  it.each([
    ["no cookie-parser", quietly],
    ["a cookie-parser with a secret", cookieParser("secret")],
  ])(
    "gives `consent` the cookies as they were sent, also those that the host has signed, with %s",
    async (_, parser) => {
      const asked: unknown[] = [];
      const consent: AffiliateOptions["consent"] = (_req, cookies) => {
        asked.push({ ...cookies });
        return cookies.optout === undefined;
      };
      const { peek } = await appWith({ consent }, (app, tracker) => void app.use(parser, tracker));
      expect(await peek("svc_click_id=c1")).toEqual({ clickId: "c1" });
      expect(await peek("svc_click_id=c1; optout=s:1.sig")).toEqual({});
      expect(asked).toEqual([{ svc_click_id: "c1" }, { svc_click_id: "c1", optout: "s:1.sig" }]);
    },
  );

  it.each([
    ["consent", {}, "which counts as no"],
    ["session", { clickId: "c1" }, "so the request has no session id"],
  ])(
    "takes a `%s` that throws or returns a promise for none, and says so once",
    async (option, ids, result) => {
      const aPromise = `returned a promise, ${result}. Ask in a middleware above, and keep the answer on the request`;
      for (const [answer, line] of [
        [throwing("boom"), `threw, ${result}: Error: boom`],
        [async () => "s9", aPromise],
        [() => Promise.reject(new Error("no database")), aPromise],
      ] as const) {
        const { peek, lines } = await appWith({ [option]: answer });
        for (let visit = 0; visit < 2; visit++) expect(await peek("svc_click_id=c1")).toEqual(ids);
        expect(lines.filter((each) => each === `express-affiliate: \`${option}\` ${line}`)).toHaveLength(1);
      }
    },
  );
});
