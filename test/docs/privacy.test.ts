import cookieParser from "cookie-parser";
import type express from "express";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { ada, returning } from "../helpers/conversions.js";
import { browser, pageToRun, referred, startShop } from "../helpers/docs/run.js";
import { answering, faultyService } from "../helpers/faulty-service.js";

const page = pageToRun("docs/privacy.md");

const payment = { paymentId: "order-1", customerEmail: ada.email, leadValue: 19.9 };

function addRoutes({ app, tracker }: Pick<Awaited<ReturnType<typeof startShop>>, "app" | "tracker">) {
  app.get("/", tracker.onClick(), (_req, res) => void res.send("Welcome"));
  app.post("/signup", tracker.onRegistration(returning(ada)));
  app.post("/checkout", tracker.onPayment(returning(payment)));
}

it("what is sent is nothing else of the request, and not the order's id", async () => {
  const shop = await startShop();
  addRoutes(shop);
  const visitor = browser(shop.app);
  await visitor
    .get("/?ref=ALICE&utm_source=news&token=query-secret")
    .set({ Referer: "https://blog.example/post?q=query-secret", "X-Forwarded-For": "203.0.113.9" })
    .set("Cookie", "other=cookie-secret");
  await visitor.post("/signup");
  await visitor.post("/checkout");
  await shop.tracker.trackRegistration({ ...ada, customerId: 8 }, { sessionId: "s2" });
  await shop.tracker.flush();
  const requests = shop.sandbox.ledger.requests();
  const text = requests.map(({ body }) => body ?? "").join("\n");
  expect(text).toContain("https://blog.example/post");
  expect(text).toContain("utm_source=news");
  expect(text).not.toMatch(/secret|203\.0\.113\.9|127\.0\.0\.1"|order-1/);
});

it("no cookie is set by anything but `onClick` and `keepClickId`", async () => {
  const shop = await startShop();
  addRoutes(shop);
  const others = [await browser(shop.app).get("/"), await referred(shop.app).post("/signup")];
  for (const { headers } of others) expect(headers["set-cookie"]).toBeUndefined();
});

describe("consent", () => {
  async function shopWithBanner() {
    const { consent } = await page.run("A cookie banner");
    const shop = await startShop({ consent });
    shop.app.get("/", shop.tracker.onClick(), (_req, res) => void res.send("Welcome"));
    return shop;
  }

  it("has the click counted when the page is loaded again with it", async () => {
    const { sandbox, app } = await shopWithBanner();
    await browser(app).get("/?ref=ALICE");
    await browser(app).get("/?ref=ALICE").set("Cookie", "consent=all");
    await sandbox.ledger.waitFor({ kind: "click", affiliateReference: "ALICE" });
  });

  it("is asked for before ids are read, and refused by Global Privacy Control, whatever the banner's cookie says", async () => {
    const { app } = await shopWithBanner();
    app.get("/ids", (req: express.Request, res: express.Response) => res.json(req.affiliate?.snapshot()));
    const visit = (answer: string) => request(app).get("/ids").set("Cookie", `svc_click_id=c1; ${answer}`);
    expect((await visit("")).body).toEqual({});
    expect((await visit("consent=all")).body).toEqual({ clickId: "c1" });
    expect((await visit("consent=all").set("Sec-GPC", "1")).body).toEqual({});
  });

  it("takes everything with it when it is withdrawn", async () => {
    const ada = { id: 7, affiliate: { clickId: "c1", sessionId: "s1" } };
    const users = { update: async (_id: number, change: object) => void Object.assign(ada, change) };
    const addSession: express.RequestHandler = (req, _res, next) => {
      Object.assign(req, { session: { userId: 7 } });
      next();
    };
    const { app, tracker, sandbox } = await startShop({ before: [cookieParser(), addSession] });
    await page.run("Consent that is withdrawn", { app, users });
    const { headers } = await referred(app).post("/consent/withdraw").expect(303);
    expect(headers["set-cookie"]).toEqual(
      ["consent", "svc_click_id", "svc_click_id_kept", "svc_session_id"].map((name) =>
        expect.stringMatching(new RegExp(`^${name}=; Path=/; Expires=Thu, 01 Jan 1970`)),
      ),
    );
    const skipped = { outcome: "skipped", reason: "no-attribution" };
    expect(await tracker.trackPayment({ ...payment, paymentId: "renewal" }, ada.affiliate)).toEqual(skipped);
    await tracker.flush();
    expect(sandbox.ledger.requests()).toEqual([]);
  });
});

it("a person's data is listed, and erased with the clicks and in every spelling of the address, but what is under way", async () => {
  const { url: baseUrl } = await faultyService({ onRequest: answering(422, {}) });
  const { tracker } = await startShop({ baseUrl });
  const user = { id: 7, email: "Ada@shop.example", affiliate: { clickId: "c1" } as object | null };
  const users = { update: async (_id: number, change: object) => void Object.assign(user, change) };
  await tracker.trackClick({ affiliateReference: "ALICE", clickId: "c1" }, { sessionId: "s1" });
  await tracker.trackPayment(payment, { sessionId: "s2" });
  await tracker.trackRegistration(ada, { clickId: "c1" });
  const other = { ...payment, paymentId: 2, customerEmail: "bo@shop.example" };
  await tracker.trackPayment(other, { sessionId: "s2" });
  await tracker.flush();
  const { dataOf, forget } = await page.run("A person's data", { tracker, users });
  const kinds = async (of: object) => (await dataOf(of)).map(({ kind }: { kind: string }) => kind).sort();
  expect(await kinds(user)).toEqual(["click", "payment", "registration"]);
  expect(await forget({ ...user })).toBe(3);
  expect(await kinds(user)).toEqual([]);
  expect(user.affiliate).toBe(null);
  expect(await tracker.deadLetters.list()).toMatchObject([{ event: { customerEmail: "bo@shop.example" } }]);
  expect((await tracker.trackPayment(payment, { sessionId: "s2" })).outcome).toBe("duplicate");
});
