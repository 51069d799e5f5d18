import cors from "cors";
import express from "express";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { listen } from "../dashboard/helpers.js";
import { blocksOf } from "../helpers/docs/pages.js";
import { startShop } from "../helpers/docs/run.js";
import { describeInChromium } from "./chromium.js";

/** The block of the page's own code, as it runs in a browser. */
function clientCode(heading: string): string {
  const code = blocksOf("docs/pages-and-apps.md").find(
    (block) => block.heading === heading && block.code.includes("apiUrl"),
  )?.code;
  if (code === undefined) throw new Error(`no code for browsers under "${heading}"`);
  return code;
}

describeInChromium(
  "docs/pages-and-apps.md, in a browser",
  ({ openPage, openShopper }) => {
    /**
     * A shop's pages and its API, each on a host of its own, and a visitor who comes through a link
     * of ALICE's.
     */
    async function shopOn(hosts: { app: string; api: string }, domain?: string) {
      const { app: api, tracker, sandbox } = await startShop();
      const apiUrl = await listen(api, hosts.api);
      const pages = express();
      const appUrl = await listen(pages, hosts.app);
      pages.use(tracker, tracker.onClick({ domain }));
      pages.get("/", (_req, res) => void res.send("<title>Shop</title>Welcome"));
      api.use(cors({ origin: appUrl, credentials: true }));
      api.post("/signup", (req, res) => {
        const header = new Headers({ cookie: req.get("x-visitor") ?? "" });
        res.json({ byCookie: req.affiliate?.snapshot(), byHeader: tracker.attributionOf(header) });
      });
      const page = await openShopper();
      await page.goto(`${appUrl}/?ref=ALICE`);
      const { clickId, sessionId } = await sandbox.ledger.waitFor({ kind: "click" });
      return { page, apiUrl, ids: { clickId, sessionId } };
    }

    /** Runs the guide's own code in the page; resolves with the API's answer. */
    async function signUp(page: Page, heading: string, apiUrl: string) {
      const answered = page.waitForResponse((response) => response.request().method() === "POST");
      const run = (code: string) => `(async (apiUrl, email) => {${code}})`;
      await page.evaluate(`${run(clientCode(heading))}(${JSON.stringify(apiUrl)}, "ada@shop.example")`);
      return (await answered).json();
    }

    test("an API on a subdomain gets the cookies of the whole domain", async () => {
      const hosts = { app: "app.shop.example", api: "api.shop.example" };
      const { page, apiUrl, ids } = await shopOn(hosts, "shop.example");
      expect(await signUp(page, "An API on a subdomain", apiUrl)).toMatchObject({ byCookie: ids });
    });

    test("an API on a subdomain gets no cookies of one host", async () => {
      const { page, apiUrl } = await shopOn({ app: "app.shop.example", api: "api.shop.example" });
      expect(await signUp(page, "An API on a subdomain", apiUrl)).toEqual({ byCookie: {}, byHeader: {} });
    });

    test("an API on another domain gets no cookies, and the header", async () => {
      const { page, apiUrl, ids } = await shopOn({ app: "shop.example", api: "api.other.example" });
      await page.context().addCookies([{ name: "svc_click_id", value: "old", url: apiUrl, sameSite: "Lax" }]);
      expect(await signUp(page, "An API on another domain", apiUrl)).toEqual({
        byCookie: {},
        byHeader: { clickId: ids.clickId },
      });
    });

    test("a tag manager's snippet sets a cookie that the server reads", async () => {
      const { app, sandbox } = await startShop();
      const html = blocksOf("docs/pages-and-apps.md").find(({ info }) => info === "html")?.code ?? "";
      const [, address = ""] = /src="([^"]+)"/.exec(html) ?? [];
      // By the attribute's name: a port has a 42 in it now and then.
      const tag = html
        .replace(address, `${sandbox.url}/snippet.js`)
        .replace(`data-client-id="42"`, `data-client-id="${sandbox.clientId}"`);
      app.get("/", (_req, res) => void res.send("<title>Shop</title>Welcome"));
      app.post("/signup", (req, res) => void res.json(req.affiliate?.snapshot()));
      const page = await openPage();
      await page.goto(`${await listen(app)}/?ref=ALICE`);
      // As a tag manager adds a tag: an inline script would not run otherwise.
      await page.evaluate((tag) => {
        document.body.append(document.createRange().createContextualFragment(tag));
      }, tag);
      const alice = { kind: "click", affiliateReference: "ALICE" } as const;
      const { clickId, sessionId } = await sandbox.ledger.waitFor(alice);
      const answer = page.evaluate(async () => (await fetch("/signup", { method: "POST" })).json());
      expect(await answer).toEqual({ clickId, sessionId });
    });
  },
  ["--host-resolver-rules=MAP *.example 127.0.0.1"],
);
