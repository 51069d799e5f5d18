import { expect, onTestFinished } from "vitest";
import { sandboxCommand } from "../../src/cli/sandbox.js";
import { outputOf } from "../helpers/user-project.js";
import { test } from "../sandbox/helpers.js";
import { printedBy, startCli } from "./helpers.js";

async function run(args: string) {
  const { code: result, out, err } = await printedBy(sandboxCommand, args.split(" "));
  const sandbox = typeof result === "number" ? undefined : result;
  onTestFinished(() => sandbox?.close());
  return { code: sandbox ? undefined : result, sandbox, out, err };
}

test("the sandbox command starts the sandbox and prints what an app needs to know", async () => {
  const { sandbox, out } = await run("--port 0 --api-key k --client-id 7 --require-key-for none");
  expect(out).toContain(`\n\nTRACKING_URL=${sandbox?.url}\nTRACKING_CLIENT_ID=7\nTRACKING_API_KEY=k\n\n`);
  expect(out).toContain(`inspector  ${sandbox?.inspectorUrl}\n`);
  expect((await fetch(`${sandbox?.url}/api/v1/tracking/status/x`)).status).toBe(200);
});

test.each(["status", "click,status", "none"])(
  "the sandbox command prints a command that makes the first event, if a key is required for %s",
  async (list) => {
    const { sandbox, out } = await run(`--port 0 --require-key-for ${list}`);
    const [, args = ""] = /^npx express-affiliate (doctor .*)$/m.exec(out) ?? [];
    const env = { ...process.env, TRACKING_API_KEY: sandbox?.apiKey };
    const { code, stdout } = await outputOf(await startCli(args.split(" "), { env }));
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(sandbox?.ledger.clicks()).toHaveLength(1);
  },
);

test("the command `sandbox` refuses values that are wrong, by name", async () => {
  const { code, err } = await run("--port http --client-id none --require-key-for click,refund");
  expect(code).toBe(2);
  for (const name of ["port", "clientId", "requireKeyFor"]) expect(err).toContain(name);
});

test("the command `sandbox` says that the port is in use", async ({ sandbox }) => {
  const { port } = new URL(sandbox.url);
  const err = expect.stringContaining(`port ${port} is in use`);
  expect(await run(`--port ${port}`)).toMatchObject({ code: 1, err });
});
