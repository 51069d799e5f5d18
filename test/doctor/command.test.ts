import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { doctorCommand } from "../../src/doctor/command.js";
import { checkName, checkTls } from "../../src/doctor/reach.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { type Certificate, certificates } from "../helpers/certificates.js";
import { outputOf, runNode, userProject } from "../helpers/user-project.js";

const KEY = "key-that-nobody-may-see";
const DAY_MS = 24 * 60 * 60 * 1_000;

async function doctor(
  args: string[],
  { isTerminal = false, env = { TRACKING_KEY: KEY } as Record<string, string> } = {},
) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await doctorCommand(args, {
    stdout: (line) => out.push(line),
    stderr: (line) => err.push(line),
    env,
    isTerminal,
  });
  expect([...out, ...err].join("\n")).not.toContain(KEY);
  return { code, out, err };
}

async function startSandbox() {
  const sandbox = await createSandbox({ apiKey: KEY });
  onTestFinished(() => sandbox.close());
  const address = ["--base-url", sandbox.url, "--client-id", String(sandbox.clientId)];
  return { sandbox, address };
}

async function startHttp(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return ["--base-url", `http://127.0.0.1:${(server.address() as AddressInfo).port}`, "--client-id", "1"];
}

describe("doctor", () => {
  it("finds a healthy integration well, and posts nothing", async () => {
    const { sandbox, address } = await startSandbox();
    const { code, out } = await doctor([...address, "--api-key-env", "TRACKING_KEY"]);
    expect(out).toEqual([
      expect.stringMatching(/^note .*127\.0\.0\.1 is an address itself/),
      expect.stringMatching(/^note .*plain http/),
      "ok      the status endpoint wants a key: 401 without one",
      "ok      the status endpoint takes the key",
      expect.stringMatching(/^ok {6}its clock and this machine's agree/),
      expect.stringMatching(/^- {7}nothing was posted/),
    ]);
    expect(code).toBe(0);
    expect(sandbox.ledger.requests().map(({ method }) => method)).toEqual(["GET", "GET"]);
  });

  it("tells whom a session is attributed to", async () => {
    const { sandbox, address } = await startSandbox();
    await fetch(`${sandbox.url}/api/v1/tracking/click`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        clientId: sandbox.clientId,
        affiliateReference: "ALICE",
        clickId: "c1",
        sessionId: "s1",
      }),
    });
    const args = [...address, "--api-key-env", "TRACKING_KEY", "--session"];
    const known = await doctor([...args, "s1"]);
    expect(known.code).toBe(0);
    expect(known.out.join("\n")).toContain("session s1 is attributed to ALICE, through click 1 at ");
    const unknown = await doctor([...args, "s2"]);
    expect(unknown.code).toBe(1);
    expect(unknown.out).toContain("WRONG   session s2 is attributed to nobody");
  });

  it("posts a click where it is told to, and looks whether it arrived", async () => {
    const { sandbox, address } = await startSandbox();
    const { code, out } = await doctor([...address, "--api-key-env", "TRACKING_KEY", "--send-test-click"]);
    expect(code).toBe(0);
    const [click] = sandbox.ledger.clicks();
    expect(click).toMatchObject({
      affiliateReference: "express-affiliate-doctor",
      source: "express-affiliate-doctor",
    });
    expect(out.at(-1)).toContain(`session ${click?.sessionId} is attributed to express-affiliate-doctor`);
  });

  it("finds a wrong key, and does not show it", async () => {
    const { sandbox, address } = await startSandbox();
    const { code, out } = await doctor([...address, "--api-key-env", "OTHER"], {
      env: { OTHER: "wrong-key" },
    });
    expect(code).toBe(1);
    expect(out.join("\n")).toMatch(/WRONG {3}the status endpoint does not take the key: 401 Unauthorized/);
    expect(out.join("\n")).not.toContain("wrong-key");
    expect(sandbox.ledger.leads()).toEqual([]);
  });

  it("notes that a key is missing where one is wanted", async () => {
    const { address } = await startSandbox();
    const { code, out } = await doctor(address);
    expect(code).toBe(0);
    expect(out).toContain("note    the status endpoint wants a key, and none was given (--api-key-env NAME)");
  });

  it("finds that nobody is there", async () => {
    const { code, out } = await doctor(["--base-url", "http://127.0.0.1:1", "--client-id", "1"]);
    expect(code).toBe(1);
    expect(out.join("\n")).toContain("WRONG   the service does not answer: connect ECONNREFUSED");
  });

  it("finds another service at the address", async () => {
    const { code, out } = await doctor(
      await startHttp((_req, res) => void res.end("<html>Welcome to nginx</html>")),
    );
    expect(code).toBe(1);
    expect(out.join("\n")).toContain("WRONG   the status endpoint does not answer as one should");
  });

  it("finds a clock that is wrong", async () => {
    const late = new Date(Date.now() - 3_600_000).toUTCString();
    const { code, out } = await doctor(
      await startHttp((_req, res) => {
        res.setHeader("date", late);
        res.end(JSON.stringify({ sessionId: "x", hasAffiliate: false }));
      }),
    );
    expect(code).toBe(1);
    expect(out.join("\n")).toMatch(/WRONG {3}its clock is 3\d\d\d s behind this machine's/);
  });

  it("reads 64 KiB of an answer at most", async () => {
    let closed = 0;
    const address = await startHttp((_req, res) => {
      res.on("close", () => closed++);
      const chunk = " ".repeat(16 * 1024);
      const pour = () => {
        while (res.write(chunk));
      };
      res.on("drain", pour);
      pour();
    });
    const { code, out } = await doctor(address);
    expect(out.join("\n")).toContain("the status endpoint does not answer as one should: 200");
    expect(code).toBe(1);
    await expect.poll(() => closed).toBe(1);
  });

  it("prints nothing that a terminal acts upon, and no key, whatever a service says", async () => {
    const hostile = `\u001b]0;owned\u0007\u009b2J\u202e\r\nok      all is well ${btoa(`x:${KEY}`)}`;
    const address = await startHttp((_req, res) =>
      res.end(
        JSON.stringify({
          hasAffiliate: true,
          affiliateReference: hostile,
          clickId: hostile,
          clickedAt: hostile,
          error: hostile,
          message: hostile,
        }),
      ),
    );
    const args = [...address, "--api-key-env", "TRACKING_KEY", "--session", "s1", "--send-test-click"];
    const { out } = await doctor(args);
    expect(out.join("\n")).toContain("is attributed to");
    for (const line of out) {
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(line).not.toContain(btoa(`x:${KEY}`).slice(4, -4));
    }
  });

  it("repeats no key that stands in a wrong place", async () => {
    const { address } = await startSandbox();
    const wrong = [
      [...address, KEY],
      [...address, "--api-key-env", KEY],
      ["--base-url", "http://127.0.0.1:1", "--client-id", KEY],
      ["--base-url", KEY, "--client-id", "1"],
    ];
    for (const args of wrong) expect((await doctor(args)).code).toBe(2);
  });

  it("repeats nothing of the key that a service sends back", async () => {
    const echo = await startHttp((req, res) => {
      res.statusCode = 400;
      res.end(
        JSON.stringify({
          error: req.headers.authorization,
          message: `no ${req.headers.authorization} ada@shop.example`,
        }),
      );
    });
    const { out } = await doctor([...echo, "--api-key-env", "TRACKING_KEY"]);
    expect(out.join("\n")).toContain("no Bearer [redacted] a***@shop.example");
  });

  it.each([
    [[], /`baseUrl` is required/],
    [["--base-url", "http://tracking.example", "--client-id", "1"], /must begin with https:/],
    [["--base-url", "https://u:pa55word@tracking.example", "--client-id", "1"], /must not hold credentials/],
    [
      ["--base-url", "https://tracking.example", "--client-id", "one"],
      /`clientId` must be a positive integer/,
    ],
    [
      ["--base-url", "https://tracking.example", "--client-id", "1", "--api-key-env", "NONE"],
      /NONE is not set/,
    ],
    [["--base-url", "https://tracking.example", "--client-id", "1", "--session", "."], /session id must be/],
    [["--nope"], /Unknown option '--nope'/],
  ])("refuses %j as usage", async (args, because) => {
    const { code, out, err } = await doctor(args);
    expect(code).toBe(2);
    expect(out).toEqual([]);
    expect(err.join("\n")).toMatch(because);
    expect(err.join("\n")).not.toContain("pa55word");
  });

  it("takes any arguments without failing", async () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom("--base-url", "--client-id", "--session", "--api-key-env", "--help", "-h"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 4 }), async (args) => {
        expect([0, 2]).toContain((await doctor(args)).code);
      }),
    );
  });

  it("uses colours for a person, and none for a file", async () => {
    const { address } = await startSandbox();
    expect((await doctor(address, { isTerminal: true })).out.join("")).toContain("\u001b[");
    expect((await doctor(address)).out.join("")).not.toContain("\u001b[");
  });

  it("runs from the command line", async () => {
    const { sandbox, address } = await startSandbox();
    const project = await userProject({});
    const cli = (...args: string[]) =>
      outputOf(
        runNode(project, ["node_modules/express-affiliate/dist/cli.js", ...args], {
          env: { ...process.env, TRACKING_KEY: KEY },
        }),
      );
    expect(await cli("doctor", ...address, "--api-key-env", "TRACKING_KEY")).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(await cli("doctor", "--base-url", sandbox.url)).toMatchObject({ code: 2, stdout: "" });
    expect(await cli("doctor", "--base-url", "http://127.0.0.1:1", "--client-id", "1")).toMatchObject({
      code: 1,
    });
    expect(await cli("doctor", "--help")).toMatchObject({ code: 0, stderr: "" });
    expect(await cli("nonsense")).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("checkName", () => {
  it("finds a name that stands for nothing", async () => {
    expect(await checkName(new URL("https://tracking.invalid"))).toMatchObject({ is: "wrong" });
    expect(await checkName(new URL("https://localhost"))).toMatchObject({ is: "well" });
    expect(await checkName(new URL("https://[::1]"))).toMatchObject({ is: "note" });
  });
});

describe("checkTls", () => {
  const made = certificates();
  afterAll(made.remove);

  async function serve(certificate: Certificate) {
    const server = createTlsServer(certificate).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  it("says until when a trusted certificate is valid, and when that is soon", async () => {
    const url = await serve(made.valid);
    const soon = await checkTls(url, Date.now(), made.authority.cert);
    expect(soon.text).toMatch(
      /^the certificate is trusted and valid until \d{4}-\d\d-\d\d \(\d days\): that is soon$/,
    );
    const [, day = ""] = /until (\S+)/.exec(soon.text) ?? [];
    expect(await checkTls(url, Date.parse(day) - 30 * DAY_MS, made.authority.cert)).toMatchObject({
      is: "well",
    });
  });

  it.each(["expired", "notYetValid", "ofAnother", "selfSigned"] as const)(
    "finds a certificate that is %s",
    async (which) => {
      const found = await checkTls(await serve(made[which]), Date.now(), made.authority.cert);
      expect(found).toMatchObject({
        is: "wrong",
        text: expect.stringMatching(/^no trusted TLS connection: ./),
      });
    },
  );

  it("finds that there is no TLS", async () => {
    const [, url = ""] = await startHttp((_req, res) => void res.end());
    expect(await checkTls(new URL(url.replace("http:", "https:")), Date.now())).toMatchObject({
      is: "wrong",
    });
  });
});
