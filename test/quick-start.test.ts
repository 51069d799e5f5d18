import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createSandbox } from "express-affiliate/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import { problemsIn } from "./helpers/docs/check.js";
import { type Block, blocksOf, isCode } from "./helpers/docs/pages.js";
import { pageToRun } from "./helpers/docs/run.js";
import { browser } from "./helpers/docs/shop.js";
import { runNode, userProject } from "./helpers/user-project.js";

const page = pageToRun("docs/quick-start.md");
const code = page.codeToRun("Quick start");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const asCommonJs = (code: string) =>
  code.replaceAll(/^import (.+) from (".+");$/gm, (_, what, from) => `const ${what} = require(${from});`);

describe("the quick start", () => {
  it.each([
    { format: "ESM", file: "app.mjs", translate: (code: string) => code },
    { format: "CommonJS", file: "app.cjs", translate: asCommonJs },
  ])("runs as it stands, as $format", async ({ file, translate }) => {
    const sandbox = await createSandbox();
    onTestFinished(() => sandbox.close());
    const project = await userProject({ [file]: translate(code) });
    const port = await freePort();
    const app = runNode(project, [file], {
      env: {
        ...process.env,
        PORT: String(port),
        TRACKING_URL: sandbox.url,
        TRACKING_CLIENT_ID: String(sandbox.clientId),
        TRACKING_API_KEY: sandbox.apiKey,
      },
    });
    const errors: string[] = [];
    app.stderr?.on("data", (chunk) => errors.push(String(chunk)));
    await Promise.race([once(app.stdout as NodeJS.ReadableStream, "data"), once(app, "close")]);
    expect(errors).toEqual([]);

    const visitor = browser(`http://127.0.0.1:${port}`);
    const { text: html } = await visitor.get("/?ref=ALICE");
    for (let visit = 0; visit < 2; visit++) {
      for (const [, path = "", name = "", value = ""] of html.matchAll(
        /action="(.+?)"><input name="(.+?)" value="(.+?)">/g,
      )) {
        const submitted = await visitor
          .post(path)
          .type("form")
          .send({ [name]: value });
        expect(submitted.ok).toBe(true);
      }
    }
    const ofAlice = { affiliateReference: "ALICE", customerEmail: "ada@shop.example" };
    await expect.poll(() => sandbox.ledger.leads(ofAlice)).toHaveLength(4);
    const [one, two] = sandbox.ledger.registrations();
    expect(one?.customerId).not.toBe(two?.customerId);
    expect(sandbox.ledger.payments()).toMatchObject([{ leadValue: 19.9 }, { leadValue: 19.9 }]);
  });

  it("is right for TypeScript's strict mode", () => {
    const [block] = blocksOf("docs/quick-start.md").filter(isCode);
    expect(problemsIn([{ ...(block as Block), info: "ts" }])).toEqual([]);
  }, 60_000);
});
