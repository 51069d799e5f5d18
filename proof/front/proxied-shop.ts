import type { Express, RequestHandler } from "express";
import { createSandbox, type Sandbox } from "express-affiliate/sandbox";
import { browser } from "../../test/frameworks/kit/browser.js";
import { eachExpress } from "../../test/helpers/express.js";
import type { Figure } from "../shared/figures.js";
import { serve } from "../shared/serve.js";
import { countScene, emailOf, referenceOf, type Visitor } from "./shared/census.js";
import { installed } from "./shared/packages.js";
import type { Part, Scene } from "./shared/part.js";
import { startShop } from "./shared/shop.js";

const PACKAGES = { "http-proxy-middleware": "4.2.2", "express-http-proxy": "2.1.2", apicache: "1.6.3" };

/** What answers the pages of a shop that runs elsewhere. */
type Front = (shop: string) => readonly RequestHandler[];

export default {
  title: "a shop behind a proxy in the Express app, and a cache of the process",
  async prove({ short }) {
    const load = await installed(PACKAGES);
    const { createProxyMiddleware } = (await load("http-proxy-middleware")) as {
      createProxyMiddleware(options: object): RequestHandler;
    };
    const { default: proxy } = (await load("express-http-proxy")) as {
      default(shop: string): RequestHandler;
    };
    const { default: apicache } = (await load("apicache")) as {
      default: { newInstance(): { middleware(duration: string): RequestHandler } };
    };
    const fronts: Record<string, Front> = {
      "http-proxy-middleware": (shop) => [createProxyMiddleware({ target: shop })],
      "express-http-proxy": (shop) => [proxy(shop)],
      "apicache, express-http-proxy": (shop) => [apicache.newInstance().middleware("1 minute"), proxy(shop)],
    };

    const sandbox = await createSandbox();
    let asked = 0;
    const shop = await serve((req, res) => {
      asked++;
      res.setHeader("Cache-Control", "public, max-age=60");
      res.writeHead(200, {
        "Content-Type": "text/html",
        "Set-Cookie": ["basket=empty; Path=/", "theme=dark"],
      });
      res.end(`<title>${req.url}</title>`);
    });
    const address = `http://127.0.0.1:${shop.port}`;

    const scenes: Scene[] = [];
    const figures: Figure[] = [];
    for (const [name, front] of Object.entries(fronts)) {
      for (const each of eachExpress) {
        const what = `${name}, ${each.name}`;
        const before = asked;
        scenes.push(await walk(what, each.express, front(address), sandbox, short ? 4 : 30));
        // The cache is at work.
        if (name.startsWith("apicache"))
          figures.push({
            what: `${what}: pages that the shop was asked for`,
            measured: asked - before,
            atMost: 1,
          });
      }
    }
    await shop.stop();
    await sandbox.close();
    return { scenes, figures };
  },
} satisfies Part;

/** Each visitor comes by the same link, reloads, signs up and pays. */
async function walk(
  name: string,
  express: () => Express,
  front: readonly RequestHandler[],
  sandbox: Sandbox,
  count: number,
): Promise<Scene> {
  const { port, close } = await startShop({
    sandbox,
    create: express,
    pages: (app) => app.get("/", ...front),
  });
  const reference = referenceOf(name, "a");
  const link = `/?ref=${reference}`;
  const visitors: Visitor[] = [];
  const wrong: string[] = [];
  for (let nth = 0; nth < count; nth++) {
    const email = emailOf(name, nth);
    const visitor = browser(`http://127.0.0.1:${port}`);
    for (let opened = 0; opened < 3; opened++) {
      const { headers } = await visitor.open(link);
      const own = (headers["set-cookie"] ?? []).filter((line: string) => /^(basket|theme)=/.test(line));
      if (own.length !== 2) wrong.push(`${email} got ${own.length} cookies of the shop`);
    }
    await visitor.post("/signup", { email });
    await visitor.post("/checkout", { email, order: email });
    visitors.push({ email, clicks: [reference], credited: reference });
  }
  await close();
  return countScene(name, visitors, sandbox.ledger, wrong);
}
