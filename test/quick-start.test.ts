import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { pageToRun } from "./helpers/docs/run.js";
import { browser, envFor } from "./helpers/docs/shop.js";
import { closedPort } from "./helpers/faulty-service.js";
import { runNode, userProject } from "./helpers/user-project.js";
import { startSandbox } from "./sandbox/helpers.js";

const page = pageToRun("docs/quick-start.md");
const code = page.codeToRun("Quick start");

const asCommonJs = (code: string) =>
  code.replaceAll(/^import (.+) from (".+");$/gm, (_, what, from) => `const ${what} = require(${from});`);

describe("the quick start", () => {
  it.each([
    { format: "ESM", file: "app.mjs", translate: (code: string) => code },
    { format: "CommonJS", file: "app.cjs", translate: asCommonJs },
  ])("runs as it stands, as $format", async ({ file, translate }) => {
    const sandbox = await startSandbox();
    const project = await userProject({ [file]: translate(code) });
    const port = await closedPort();
    const env = { ...process.env, ...envFor(sandbox), PORT: String(port) };
    const app = runNode(project, [file], { env });
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
        const form = { [name]: value };
        expect((await visitor.post(path).type("form").send(form)).ok).toBe(true);
      }
    }
    const ofAlice = { affiliateReference: "ALICE", customerEmail: "ada@shop.example" };
    await expect.poll(() => sandbox.ledger.leads(ofAlice)).toHaveLength(4);
    const [one, two] = sandbox.ledger.registrations();
    expect(one?.customerId).not.toBe(two?.customerId);
    expect(sandbox.ledger.payments()).toMatchObject([{ leadValue: 19.9 }, { leadValue: 19.9 }]);
  });
});
