import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { textOf } from "../helpers/docs/pages.js";
import { browser, envFor, pageToRun, startShop } from "../helpers/docs/run.js";
import { outputOf, runNode, userProject } from "../helpers/user-project.js";
import { startSandbox } from "../sandbox/helpers.js";

const page = pageToRun("docs/deployment.md");

it("the tracker leaves PM2's workers the time that they need", async () => {
  const module = { exports: { apps: [{ kill_timeout: 0 }] } };
  await page.run("PM2 and cluster", { module });
  expect(module.exports.apps[0]?.kill_timeout).toBeGreaterThan(15_000);
});

describe("the samples", () => {
  const page = textOf("docs/deployment.md");
  /** What the shutdown of docs/production.md takes at most: 10 s for requests, 5 s for the tracker. */
  const shutdownSeconds = 15;

  it("have a Dockerfile from which signals reach Node, with time for the shutdown", () => {
    const dockerfile = textOf("docs/deployment/Dockerfile");
    const [, directory] = /^ENV OUTBOX_DIRECTORY=(.+)$/m.exec(dockerfile) ?? [];
    expect(dockerfile).toContain(`VOLUME ${directory}\n`);
    expect(dockerfile).toContain('CMD ["node", "server.js"]');
    const [, seconds, volume] = /--stop-timeout (\d+) --volume outbox:(\S+)/.exec(page) ?? [];
    expect(volume).toBe(directory);
    expect(Number(seconds)).toBeGreaterThan(shutdownSeconds);
  });

  it("have a Deployment with time for the shutdown", () => {
    const { spec } = parse(textOf("docs/deployment/kubernetes.yaml")).spec.template;
    const [{ lifecycle, command }] = spec.containers;
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
      lifecycle.preStop.sleep.seconds + shutdownSeconds,
    );
    expect(command).toEqual(["node", "server.js"]);
  });
});

it("the tracker works if nothing may be written", async () => {
  const sandbox = await startSandbox();
  const code = `
    import { affiliate } from "express-affiliate";
    const { TRACKING_URL: baseUrl, TRACKING_CLIENT_ID: clientId } = process.env;
    const tracker = affiliate({ baseUrl, clientId: Number(clientId) });
    await tracker.trackPayment({ paymentId: 1, customerEmail: "ada@shop.example", leadValue: 19.9 }, { sessionId: "s1" });
    console.log(JSON.stringify(await tracker.flush()), process.permission.has("fs.write"));`;
  const folder = await userProject({ "app.mjs": code });
  const flag = ["--permission", "--experimental-permission"].find((name) =>
    process.allowedNodeEnvironmentFlags.has(name),
  );
  // From Node 25 on, the network needs a flag, too.
  const net = ["--allow-net"].filter((name) => process.allowedNodeEnvironmentFlags.has(name));
  const args = [`${flag}`, "--allow-fs-read=*", ...net, "--no-warnings", "app.mjs"];
  const child = runNode(folder, args, { env: { ...process.env, ...envFor(sandbox) } });
  expect(await outputOf(child)).toEqual({ code: 0, stdout: '{"settled":true,"left":0} false\n', stderr: "" });
  expect(sandbox.ledger.payments()).toHaveLength(1);
});

it("the tracker sets secure cookies behind a proxy that speaks https, if the proxy is trusted", async () => {
  const { app, tracker, sandbox } = await startShop();
  await page.run("Behind a proxy", { app });
  app.get("/", tracker.onClick(), (_req, res) => void res.send("Welcome"));
  const { headers } = await browser(app)
    .get("/?ref=ALICE")
    .set({ "X-Forwarded-Proto": "https", "X-Forwarded-Host": "shop.example" });
  const { clickedUrl } = await sandbox.ledger.waitFor({ kind: "click" });
  expect(clickedUrl).toBe("https://shop.example/?ref=ALICE");
  expect(String(headers["set-cookie"]).match(/; Secure/g)).toHaveLength(2);
  expect(headers["cache-control"]).toBe("private");
});
