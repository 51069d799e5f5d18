import { once } from "node:events";
import type { Sandbox } from "express-affiliate/sandbox";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { envFor, pageToRun, reportAll, startRefusing, startShop } from "../helpers/docs/run.js";
import { shopToServe } from "../helpers/docs/server.js";
import { closedPort } from "../helpers/faulty-service.js";
import { pay } from "../helpers/pay.js";
import { outputOf, runNode, userProject } from "../helpers/user-project.js";
import { startSandbox } from "../sandbox/helpers.js";

const page = pageToRun("docs/production.md");

/** Starts the server of a project. */
async function startServer(folder: string, sandbox: Sandbox) {
  const port = await closedPort();
  const env = { ...process.env, ...envFor(sandbox), PORT: String(port) };
  const child = runNode(folder, ["server.mjs"], { env });
  const output = outputOf(child);
  await Promise.race([once(child.stdout as NodeJS.ReadableStream, "data"), output]);
  return {
    child,
    output,
    pay: (id: string, total: number) =>
      fetch(`http://127.0.0.1:${port}/checkout/complete`, {
        method: "POST",
        headers: { "content-type": "application/json", cookie: "svc_session_id=s1" },
        body: JSON.stringify({ id, email: "ada@shop.example", total }),
      }),
  };
}

it("a server with the disk outbox keeps what waits when SIGTERM ends it, for the next, which SIGINT ends", async () => {
  const sandbox = await startSandbox();
  const code = shopToServe + page.codeToRun("The end of a process");
  const folder = await userProject({ "server.mjs": code }, ["express", "@photostructure/sqlite"]);
  await sandbox.fail("down");
  const first = await startServer(folder, sandbox);
  expect((await first.pay("o1", 10)).status).toBe(200);
  first.child.kill("SIGTERM");
  expect(await first.output).toMatchObject({
    code: 0,
    stderr: expect.not.stringMatching(/the process ends|Error/),
  });

  await sandbox.fail("ok");
  const second = await startServer(folder, sandbox);
  await second.pay("o1", 10);
  await second.pay("o2", 20);
  await expect.poll(() => sandbox.ledger.payments()).toHaveLength(2);
  second.child.kill("SIGINT");
  expect(await second.output).toMatchObject({ code: 0, stderr: "" });
  expect(sandbox.ledger.payments()).toMatchObject([{ leadValue: 10 }, { leadValue: 20 }]);
});

describe("probes", () => {
  it("do not ask the service, and fail while the process shuts down", async () => {
    const { app, tracker, sandbox } = await startShop();
    await page.run("Probes", { app, tracker });
    await sandbox.fail("down");
    for (let id = 0; id < 5; id++) await pay(tracker, id);
    await expect.poll(() => tracker.stats().state).toBe("paused");
    await request(app).get("/readyz").expect(200, { tracking: "paused", queued: 5 });
    await request(app).get("/livez").expect(200);
    await tracker.close();
    await request(app).get("/readyz").expect(503);
    await request(app).get("/livez").expect(200);
  });

  it("say what is wrong with the outbox's storage", async () => {
    const { app, tracker } = await startShop();
    const trouble = "the database does not answer";
    await page.run("Probes", { app, tracker: { stats: () => ({ ...tracker.stats(), trouble }) } });
    await request(app).get("/readyz").expect(200, { tracking: trouble, queued: 0 });
  });
});

it("dead letters are discarded once they are old, and no others", async () => {
  const { tracker } = await startRefusing();
  await reportAll(tracker);
  const { discardOldLetters } = await page.run("Consent, and for how long addresses are kept", { tracker });
  await discardOldLetters();
  const letters = await tracker.deadLetters.list();
  expect(letters).toHaveLength(1);
  const aged = letters.map((letter) => ({ ...letter, diedAt: letter.diedAt - 31 * 24 * 60 * 60 * 1_000 }));
  const old = { ...tracker, deadLetters: { ...tracker.deadLetters, list: async () => aged } };
  const later = await page.run("Consent, and for how long addresses are kept", { tracker: old });
  await later.discardOldLetters();
  expect(await tracker.deadLetters.list()).toEqual([]);
});
