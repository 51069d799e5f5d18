import { runInNewContext } from "node:vm";
import type { Sandbox } from "express-affiliate/sandbox";
import { expect, onTestFinished, test } from "vitest";
import { sandboxCommand } from "../../src/sandbox/command.js";
import { sendPayment, sendRegistration, startSandbox } from "./helpers.js";

/** Opens a page with an affiliate's reference and the sandbox's snippet. Resolves with its cookies. */
async function openLandingPage(sandbox: Sandbox): Promise<Map<string, string>> {
  const src = `${sandbox.url}/snippet.js`;
  const cookies = new Map<string, string>();
  const document = {
    currentScript: { src, dataset: { clientId: String(sandbox.clientId) } },
    referrer: "",
    get cookie() {
      return [...cookies].map((pair) => pair.join("=")).join("; ");
    },
    set cookie(text: string) {
      const [, name = "", value = ""] = /^(\w+)=(\w+);/.exec(text) ?? [];
      cookies.set(name, value);
    },
  };
  const posted: Promise<Response>[] = [];
  runInNewContext(await (await fetch(src)).text(), {
    ...{ URL, JSON, Number, Array, Uint8Array, crypto, console, document },
    location: new URL("https://shop.example/?ref=ALICE"),
    navigator: { userAgent: "Mozilla/5.0" },
    sessionStorage: { getItem: () => null, setItem: () => {} },
    fetch: (url: URL, init: RequestInit) => posted[posted.push(fetch(url, init)) - 1],
  });
  for (const answer of await Promise.all(posted)) expect(answer.status).toBe(201);
  return cookies;
}

/** What a shop on whose pages the snippet is reports of a customer. */
async function affiliateOf(sandbox: Sandbox, cookies: ReadonlyMap<string, string>, signsUp: boolean) {
  const clickId = cookies.get("svc_click_id");
  const sessionId = cookies.get("svc_session_id");
  if (signsUp) await sendRegistration(sandbox, { clickId });
  await sendPayment(sandbox, { sessionId });
  return sandbox.ledger.payments()[0]?.affiliateReference ?? null;
}

test("with the snippet's session id, a guest's payment is linked by it", async () => {
  const sandbox = await startSandbox();
  expect(await affiliateOf(sandbox, await openLandingPage(sandbox), false)).toBe("ALICE");
});

test.each([
  { who: "a customer who has registered", signsUp: true, affiliate: "ALICE" },
  { who: "a guest", signsUp: false, affiliate: null },
])(
  "without a session id of the snippet, a payment of $who has the affiliate $affiliate",
  async ({ signsUp, affiliate }) => {
    const sandbox = await startSandbox({ snippetSession: false });
    const cookies = await openLandingPage(sandbox);
    expect([...cookies.keys()]).toEqual(["svc_click_id"]);
    expect(sandbox.ledger.clicks()).toMatchObject([
      { clickId: cookies.get("svc_click_id"), sessionId: null },
    ]);
    expect(await affiliateOf(sandbox, cookies, signsUp)).toBe(affiliate);
  },
);

test("the sandbox command turns the snippet's session id off", async () => {
  const io = { stdout: () => {}, stderr: () => {} };
  const sandbox = (await sandboxCommand(["--port", "0", "--no-snippet-session"], io)) as Sandbox;
  onTestFinished(() => sandbox.close());
  expect([...(await openLandingPage(sandbox)).keys()]).toEqual(["svc_click_id"]);
});
