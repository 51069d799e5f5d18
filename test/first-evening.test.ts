import { once } from "node:events";
import { affiliate } from "express-affiliate";
import Stripe from "stripe";
import { describe, expect, it, vi } from "vitest";
import { bodies } from "./gateways/bodies.js";
import { blocksOf } from "./helpers/docs/pages.js";
import { browser, closing, envFor, pageToRun, startShop } from "./helpers/docs/run.js";
import { closedPort } from "./helpers/faulty-service.js";
import { outputOf, runNode, userProject } from "./helpers/user-project.js";
import { startSandbox } from "./sandbox/helpers.js";

const page = pageToRun("docs/first-evening.md");
const shop = page.codeToRun("The shop");
const server = page.codeToRun("The server");

const asCommonJs = (code: string) =>
  code
    .replaceAll(/^import (\w+), (.+) from (".+");$/gm, "const $1 = require($3);\nconst $2 = $1;")
    .replaceAll(/^import (.+) from (".+");$/gm, (_, what: string, from: string) => {
      return `const ${what.replaceAll(" as ", ": ")} = require(${from});`;
    })
    .replaceAll(/^export function (\w+)/gm, "exports.$1 = $1;\nfunction $1");

const packages = ["express", "express-session", "stripe", "supertest", "@photostructure/sqlite"];
const { webhooks } = new Stripe("sk_test_key");

/** The event of a charge of 19.90, as Stripe sends it. */
function charged(metadata: Record<string, string> = {}, email = "ada@shop.example") {
  const { affiliate } = metadata;
  const paid = { id: "ch_1", minor: 1_990, email, ...(affiliate && { affiliate }) };
  const payload = JSON.stringify(bodies.stripe.sale(paid));
  const header = webhooks.generateTestHeaderString({ payload, secret: "whsec_test" });
  return { payload, headers: { "content-type": "application/json", "stripe-signature": header } };
}

describe("the first evening", () => {
  it.each([
    { format: "ESM", type: "module", translate: (code: string) => code },
    { format: "CommonJS", type: "commonjs", translate: asCommonJs },
  ])("has a shop and a server that run as they stand, as $format", async ({ type, translate }) => {
    const sandbox = await startSandbox();
    const files = { "shop.js": translate(shop), "server.js": translate(server) };
    const project = await userProject({ ...files, "package.json": JSON.stringify({ type }) }, packages);
    const port = await closedPort();
    const stripeEnv = { STRIPE_KEY: "sk_test_key", STRIPE_WEBHOOK_SECRET: "whsec_test" };
    const env = { ...process.env, ...envFor(sandbox), ...stripeEnv, PORT: String(port) };
    const running = runNode(project, ["server.js"], { env });
    const errors: string[] = [];
    running.stderr?.on("data", (chunk) => errors.push(String(chunk)));
    await Promise.race([once(running.stdout as NodeJS.ReadableStream, "data"), once(running, "close")]);
    expect(errors).toEqual([]);

    const url = `http://127.0.0.1:${port}`;
    const visitor = browser(url);
    const { text: html } = await visitor.get("/?ref=ALICE");
    const [, email = ""] = /action="\/signup"><input name="email" value="(.+?)">/.exec(html) ?? [];
    await visitor.post("/signup").type("form").send({ email }).expect(201);
    const registration = await sandbox.ledger.waitFor({ kind: "registration", affiliateReference: "ALICE" });
    expect(registration).toMatchObject({ customerEmail: "ada@shop.example" });
    const { payload, headers } = charged();
    const answer = await fetch(`${url}/webhooks/stripe`, { method: "POST", headers, body: payload });
    expect(answer.status).toBe(204);
  });

  it("credits a payment to the affiliate of who went to the checkout, once, and takes none that Stripe did not sign", async () => {
    const { sandbox, service } = await startShop();
    vi.stubEnv("STRIPE_WEBHOOK_SECRET", "whsec_test");
    const tracker = closing(affiliate(service));
    const sessions: { payment_intent_data: { metadata: Record<string, string> } }[] = [];
    const create = async (session: (typeof sessions)[number]) => {
      sessions.push(session);
      return { url: "https://checkout.stripe.example/" };
    };
    const { createShop } = await page.run("The shop");
    const app = createShop({ tracker, stripe: { webhooks, checkout: { sessions: { create } } } });
    const visitor = browser(app);
    await visitor.get("/?ref=ALICE").expect(200);
    await visitor.post("/signup").type("form").send({ email: "ada@shop.example" }).expect(201);
    await visitor.post("/checkout").expect(303);
    // Stripe copies a payment intent's metadata to its charge.
    const { payload, headers } = charged(sessions[0]?.payment_intent_data.metadata);
    // A later click does not take a customer from the affiliate of the sign-up.
    await visitor.get("/?ref=BOB").expect(200);
    await visitor.post("/checkout").expect(303);
    expect(sessions[1]).toMatchObject({ payment_intent_data: sessions[0]?.payment_intent_data });
    for (let time = 0; time < 2; time++)
      await browser(app).post("/webhooks/stripe").set(headers).send(payload).expect(204);
    await browser(app).post("/webhooks/stripe").set(headers).send(`${payload} `).expect(400);
    await tracker.flush();
    vi.unstubAllEnvs();
    const ofAlice = { affiliateReference: "ALICE" };
    expect(sandbox.ledger.leads()).toMatchObject([
      { kind: "registration", ...ofAlice },
      { kind: "payment", leadValue: 19.9, ...ofAlice },
    ]);
  });

  it("answers 500 only if Stripe's next call may succeed", async () => {
    const { service } = await startShop();
    vi.stubEnv("STRIPE_WEBHOOK_SECRET", "whsec_test");
    const tracker = closing(affiliate(service));
    const app = (await page.run("The shop")).createShop({ tracker, stripe: { webhooks } });
    const post = ({ payload, headers }: ReturnType<typeof charged>, status: number) =>
      browser(app).post("/webhooks/stripe").set(headers).send(payload).expect(status);
    const affiliateOf = JSON.stringify({ sessionId: "s1" });
    await post(charged({ affiliate: affiliateOf }, "no address"), 204);
    expect(tracker.stats().dropped.invalid).toBe(1);
    await tracker.close();
    await post(charged({ affiliate: affiliateOf }), 500);
    vi.unstubAllEnvs();
  });

  it("has a test that passes", async () => {
    const files = { "shop.js": shop, "shop.test.js": page.codeToRun("A test") };
    const project = await userProject({ ...files, "package.json": '{ "type": "module" }' }, packages);
    const { code, stdout, stderr } = await outputOf(runNode(project, ["--test"]));
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringMatching(/pass 1\b/) });
  });

  it("names the files as it imports them", () => {
    const named = blocksOf("docs/first-evening.md").flatMap(({ info }) => /file=(\S+)/.exec(info)?.[1] ?? []);
    expect(named).toEqual(["shop.js", "server.js", "shop.test.js"]);
  });
});
