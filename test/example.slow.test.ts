import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { request } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { serve } from "../example-app/serve.js";
import { walk } from "../example-app/walk.js";
import { scratchDirectory } from "./helpers/scratch.js";
import { runNode, userProject } from "./helpers/user-project.js";

const grace = { reference: "ALICE", name: "Grace", email: "grace@customers.example" };

/** The shop and its sandbox, for one test. */
async function start(options: Parameters<typeof serve>[0] = {}) {
  const example = await serve(options);
  onTestFinished(example.close);
  return example;
}

describe("the example shop", () => {
  it("turns a visit, a sign-up and a payment into one chain, and has a way on from the page that thanks", async () => {
    const { sandbox, tracker, shopUrl, dashboardUrl } = await start();
    const { sessionId, pages } = await walk(shopUrl, grace);
    await tracker.flush();
    const [click] = sandbox.ledger.clicks();
    expect(sandbox.ledger.leads()).toMatchObject([
      { kind: "registration", linkedClick: click?.id },
      { kind: "payment", linkedClick: click?.id, leadValue: 24 },
      { kind: "payment", linkedClick: click?.id, leadValue: 24 },
    ]);
    expect(await tracker.client.status(sessionId)).toMatchObject({ affiliateReference: "ALICE" });
    // What was sent back was withdrawn.
    expect(tracker.stats()).toMatchObject({
      delivered: 4,
      duplicates: 3,
      queued: 0,
      scheduled: { count: 0 },
    });

    for (const page of pages) expect(page).toContain('<link rel="icon" href="data:image/svg+xml,');
    const thanks = pages.filter((page) => page.includes("Thank you"));
    expect(thanks).toHaveLength(3);
    for (const page of thanks) expect(page).toContain('<a href="/">Back to the shop</a>');
    const footer = /<footer>.*<\/footer>/s.exec(pages[0] ?? "")?.[0] ?? "";
    const links = [...footer.matchAll(/href="([^"]+)"/g)].map(([, href = ""]) => new URL(href, shopUrl));
    expect(links.map(String)).toEqual([`${shopUrl}/records`, dashboardUrl]);
    const { headers } = await fetch(`${shopUrl}/records`, { redirect: "manual" });
    expect(headers.get("location")).toBe(sandbox.inspectorUrl);
  });

  it("reports what can be returned by the gateway's webhook, and keeps it in the outbox until then", async () => {
    const { tracker, shopUrl, sandbox } = await start();
    await walk(shopUrl, { ...grace, keeps: true });
    await tracker.flush();
    expect(tracker.stats().scheduled?.count).toBe(1);
    expect(sandbox.ledger.payments()).toHaveLength(2);
  });

  it("sends nothing of a customer who came without a link, not even when the gateway calls", async () => {
    const { sandbox, tracker, shopUrl } = await start();
    await walk(shopUrl, { reference: "", name: "Eve", email: "eve@customers.example" });
    await tracker.flush();
    // The sign-up, and two payments that the gateway tells of twice; the checkout is known by its
    // login session.
    expect(tracker.stats().skipped).toMatchObject({ "no-attribution": 5, "not-referred": 1 });
    expect(sandbox.ledger.requests().filter(({ body }) => body)).toEqual([]);
  });

  it("keeps its addresses, and what it could not deliver, for its next start", async () => {
    const data = scratchDirectory();
    const today = await serve({ data });
    await today.sandbox.fail("down");
    await walk(today.shopUrl, grace);
    await today.close();
    const tomorrow = await start({ data });
    const addressesOf = ({ shopUrl, sandbox }: typeof today) => [shopUrl, sandbox.url, sandbox.inspectorUrl];
    expect(addressesOf(tomorrow)).toEqual(addressesOf(today));
    await expect.poll(() => tomorrow.tracker.stats().queued).toBe(0);
    expect(tomorrow.sandbox.ledger.leads()).toMatchObject([
      { kind: "registration", affiliateReference: "ALICE" },
      { kind: "payment", affiliateReference: "ALICE" },
      { kind: "payment", affiliateReference: "ALICE" },
    ]);
  });

  it("opens with one address, says which process to kill and what to try next, and starts there again", async () => {
    const folder = resolve(import.meta.dirname, "../example-app");
    const files = readdirSync(folder).filter((name) => name.endsWith(".js"));
    const sources = files.map((name) => [name, readFileSync(join(folder, name), "utf8")]);
    const project = await userProject(
      { ...Object.fromEntries(sources), "package.json": '{ "type": "module" }' },
      ["express", "express-session", "undici"],
    );
    async function run() {
      const child = runNode(project, ["start.js"]);
      let out = "";
      child.stdout?.on("data", (chunk) => {
        out += chunk;
      });
      await expect.poll(() => out).toContain("npm run example goes on");
      expect(out).toContain(`kill -9 ${child.pid} at any moment`);
      expect(out.match(/http:/g)).toHaveLength(1);
      return { child, output: () => out, shopUrl: /Open +(\S+)\/\?ref=ALICE/.exec(out)?.[1] ?? "" };
    }
    const first = await run();
    await walk(first.shopUrl, grace);
    await expect
      .poll(first.output)
      .toMatch(/recorded: click.*next: sign up.*next: buy something.*next: reload.*next: subscribe/s);
    first.child.kill("SIGKILL");
    await once(first.child, "close");
    expect((await run()).shopUrl).toBe(first.shopUrl);
  });

  it("shows its dashboard to this machine alone", async () => {
    const { dashboardUrl } = await start();
    const { port } = new URL(dashboardUrl);
    const statusFor = async (host: string) => {
      const { statusCode, body } = await request(dashboardUrl, { headers: { host } });
      await body.dump();
      return statusCode;
    };
    expect(await statusFor(`127.0.0.1:${port}`)).toBe(200);
    expect(await statusFor(`localhost:${port}`)).toBe(200);
    // A name that another site has led to this machine.
    expect(await statusFor(`evil.example:${port}`)).toBe(403);
  });

  it("answers what a stranger posts without failing", async () => {
    const { shopUrl, sandbox } = await start();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const post = async (path: string, body: string) =>
      (await fetch(shopUrl + path, { method: "POST", body, headers })).status;
    expect(await post("/signup", "email=no-address")).toBe(400);
    expect(await post("/checkout", "product=lamp")).toBe(400);
    expect(await post("/checkout/complete", "order=%00")).toBe(404);
    for (const path of ["/checkout/gateway", "/return", "/next-month"])
      expect(await post(path, "order=1")).toBe(404);
    expect(await post("/webhooks/gateway", "{}")).toBe(400);
    expect(sandbox.ledger.requests()).toEqual([]);
  });
});
