import { runInNewContext } from "node:vm";
import type { Sandbox } from "express-affiliate/sandbox";
import { expect, onTestFinished, test } from "vitest";
import { sandboxCommand } from "../../src/cli/sandbox.js";
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

test.each([
  { who: "a guest", snippetSession: true, signsUp: false, affiliate: "ALICE" },
  { who: "a guest", snippetSession: false, signsUp: false, affiliate: null },
  { who: "a customer who has registered", snippetSession: false, signsUp: true, affiliate: "ALICE" },
])(
  "a payment of $who has the affiliate $affiliate, if the snippet keeps a session id: $snippetSession",
  async ({ snippetSession, signsUp, affiliate }) => {
    const sandbox = await startSandbox({ snippetSession });
    const cookies = await openLandingPage(sandbox);
    expect([...cookies.keys()]).toEqual(["svc_click_id", ...(snippetSession ? ["svc_session_id"] : [])]);
    const [clickId, sessionId = null] = cookies.values();
    expect(sandbox.ledger.clicks()).toMatchObject([{ clickId, sessionId }]);
    if (signsUp) await sendRegistration(sandbox, { clickId });
    await sendPayment(sandbox, { sessionId: sessionId ?? undefined });
    expect(sandbox.ledger.payments()).toMatchObject([{ affiliateReference: affiliate }]);
  },
);

test("the sandbox command turns the snippet's session id off", async () => {
  const io = { stdout: () => {}, stderr: () => {}, env: {} };
  const sandbox = (await sandboxCommand(["--port", "0", "--no-snippet-session"], io)) as Sandbox;
  onTestFinished(() => sandbox.close());
  expect([...(await openLandingPage(sandbox)).keys()]).toEqual(["svc_click_id"]);
});
