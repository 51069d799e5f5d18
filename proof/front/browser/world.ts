import { EventEmitter, once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import cors from "cors";
import express from "express";
import type { Sandbox } from "express-affiliate/sandbox";
import type { Browser, Page } from "playwright-core";
import { certificates } from "../../../test/helpers/certificates.js";
import { serve } from "../../shared/serve.js";
import { startNginx } from "../../world/programs/nginx.js";
import type { Visitor } from "../shared/census.js";
import { addRoutes, site, startShop } from "../shared/shop.js";
import { blogPage } from "./blog.js";

/** The sites that the scenarios meet. Browsers take `*.localhost` for this machine. */
export interface World {
  readonly browser: Browser;
  /** The shop: the tracker above static files. */
  readonly shop: string;
  /** Another site, with links to the shop. */
  readonly blog: string;
  /** The shop on https and HTTP/2. */
  readonly secure: string;
  /** The shop's API on another port. */
  readonly otherPort: string;
  /** A page of `site` whose link `#go` leads to `to`; what its browser does beforehand is `how`. */
  page(site: string, to: string, how?: { readonly ahead?: string; readonly opens?: boolean }): string;
  /** Resolves once the shop has answered a request ahead of a visit whose address has this text. */
  aheadOf(text: string): Promise<void>;
  /** Resolves once this visitor has signed up and paid in a browser without a debugger. */
  walked(email: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Some visitors who do the same. Resolves to one, or to none if nobody came. */
export interface Scenario {
  readonly name: string;
  visit(world: World, nth: number): Promise<Visitor | undefined>;
}

export async function startWorld(browser: Browser, sandbox: Sandbox): Promise<World> {
  const events = new EventEmitter().setMaxListeners(0);
  const answeredAhead: string[] = [];

  async function aheadOf(text: string): Promise<void> {
    while (!answeredAhead.some((address) => address.includes(text))) await once(events, "ahead");
  }

  const main = await startShop({
    sandbox,
    before(app) {
      app.set("trust proxy", "loopback");
      app.use((req, res, next) => {
        const isAhead = (req.get("sec-purpose") ?? "") !== "";
        if (isAhead) {
          res.once("close", () => {
            answeredAhead.push(decodeURIComponent(req.originalUrl));
            events.emit("ahead");
          });
        }
        if (req.path === "/slow") setTimeout(next, 300);
        else next();
      });
    },
    pages(app) {
      app.get("/walked", (req, res) => {
        res.end();
        events.emit(decodeURIComponent(req.originalUrl.slice("/walked?".length)));
      });
      app.get("/blog", blogPage);
      const index = join(site, "index.html");
      app.get("/slow", (_req, res) => res.sendFile(index));
      app.get("/minute", (_req, res) => res.set("Cache-Control", "public, max-age=60").sendFile(index));
      // Redirects that carry the reference on, as for a language or a trailing slash.
      app.get("/old", (req, res) =>
        res.redirect(`/about.html${new URL(req.originalUrl, "http://x").search}`),
      );
    },
  });
  const shop = `http://shop.localhost:${main.port}`;

  const secure = await startHttps(main.port);

  const otherApp = express();
  otherApp.use(cors({ origin: shop, credentials: true }), main.tracker);
  addRoutes(otherApp, main.tracker);
  const other = await serve(otherApp);

  const blogApp = express();
  blogApp.get("/blog", blogPage);
  blogApp.get("/ahead", (req, res) => void aheadOf(String(req.query.text)).then(() => res.end()));
  // A short link.
  blogApp.get("/short", (req, res) => res.redirect(String(req.query.to)));
  const blog = await serve(blogApp);
  main.app.get("/ahead", (req, res) => void aheadOf(String(req.query.text)).then(() => res.end()));

  return {
    browser,
    shop,
    blog: `http://blog.localhost:${blog.port}`,
    secure: secure.url.replace("127.0.0.1", "shop.localhost"),
    otherPort: `http://shop.localhost:${other.port}`,
    page: (site, to, { ahead, opens } = {}) =>
      `${site}/blog?${new URLSearchParams({ to, ...(ahead && { ahead }), ...(opens && { opens: "1" }) })}`,
    aheadOf,
    walked: (email) => once(events, email),
    async close() {
      await secure.stop();
      await main.close();
      await Promise.all([other.stop(), blog.stop()]);
    },
  };
}

/** nginx, which speaks https and HTTP/2 to browsers, and http to the app. */
async function startHttps(appPort: number) {
  const { selfSigned, remove } = certificates();
  remove();
  const nginx = await startNginx((port, directory) => {
    writeFileSync(join(directory, "key.pem"), selfSigned.key);
    writeFileSync(join(directory, "cert.pem"), selfSigned.cert);
    return `
  server {
    listen 127.0.0.1:${port} ssl http2;
    ssl_certificate ${directory}/cert.pem;
    ssl_certificate_key ${directory}/key.pem;
    location / {
      proxy_pass http://127.0.0.1:${appPort};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
    }
  }
`;
  });
  return { ...nginx, url: nginx.url.replace("http:", "https:") };
}

/** Signs up and pays in the page. */
export async function signUpAndPay(page: Page, email: string, api = ""): Promise<void> {
  await page.waitForFunction("typeof walk === 'function'");
  await page.evaluate(`walk(${JSON.stringify(email)}, ${JSON.stringify(api)})`);
}
