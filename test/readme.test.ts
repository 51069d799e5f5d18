import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSandbox } from "../src/sandbox/index.js";
import { runNode, userProject } from "./helpers/user-project.js";

const readme = readFileSync(resolve(import.meta.dirname, "../README.md"), "utf8");

function blockUnder(heading: string): string {
  const [, section = ""] = readme.split(`## ${heading}\n`);
  const [, block] = /```js\n((?:.|\n)+?)```/.exec(section) ?? [];
  if (block === undefined) throw new Error(`README.md has no block of code under "${heading}"`);
  return block;
}

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
    const project = await userProject({ [file]: translate(blockUnder("Quick start")) });
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

    const post = (path: string, body: object) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", cookie: "svc_click_id=c1; svc_session_id=s1" },
        body: JSON.stringify(body),
      });
    expect((await post("/signup", { email: "ada@shop.example", name: "Ada" })).status).toBe(201);
    expect((await post("/checkout/complete", { id: "o1", email: "ada@shop.example" })).status).toBe(200);
    await sandbox.ledger.waitFor({
      kind: "registration",
      customerEmail: "ada@shop.example",
      customerId: "7",
    });
    await sandbox.ledger.waitFor({ kind: "payment", customerEmail: "ada@shop.example", leadValue: 19.9 });
  });
});

describe("the options table", () => {
  it("has a row for every option there is", async () => {
    const { affiliate } = await import("../src/index.js");
    const [, section = ""] = readme.split("## Options\n");
    const [table = ""] = section.split("\n## ");
    const rows = [...table.matchAll(/^\| `([a-zA-Z.]+)` \|/gm)].map(([, name]) => name);
    const known = (path: object) => {
      try {
        affiliate(path as never);
        return [];
      } catch (error) {
        return [...String(error).matchAll(/there are (.+)/g)].flatMap(
          ([, names = ""]) => names.match(/\w+/g) ?? [],
        );
      }
    };
    const options = known({ zzzzzzzz: 1 }).filter((name) => name !== "delivery");
    const delivery = known({ delivery: { zzzzzzzzzzzz: 1 } }).map((name) => `delivery.${name}`);
    expect([...options, ...delivery].sort()).toEqual(rows.sort());
  });
});
