import { describe, expect } from "vitest";
import { doctorCommand } from "../../../src/cli/doctor/command.js";
import type { Terminal } from "../../../src/cli/terminal.js";
import { certificates } from "../../helpers/certificates.js";
import { faultyService } from "../../helpers/faulty-service.js";
import { type Answer, startService } from "../../helpers/service.js";
import { sendClick, startSandbox, test } from "../../sandbox/helpers.js";
import { runCommand } from "../helpers.js";

const KEY = "key-that-is-never-shown";

async function doctor(args: string[], terminal: Partial<Terminal> = {}) {
  const env = { TRACKING_KEY: KEY };
  const { code, out, err } = await runCommand(doctorCommand, args, { env, ...terminal });
  expect([...out, ...err].join("\n")).not.toContain(KEY);
  return { code, out, err };
}

const addressOf = (url: string, id: string | number = 1) => ["--base-url", url, "--client-id", `${id}`];
const DATABASE = "mysql://shop:pa55word@127.0.0.1/shop";
const NOWHERE = addressOf("http://127.0.0.1:1");

const it = test
  .extend("sandbox", () => startSandbox({ apiKey: KEY }))
  .extend("address", ({ sandbox }) => addressOf(sandbox.url, sandbox.clientId));

/** The address of a service that answers like this. */
const startHttp = async (answer: Answer) => addressOf((await startService(answer)).url);

/** The address of a web server that is not the service. */
const nginx = (status: number) => {
  const body = status === 200 ? "It works!" : "<html>Welcome to nginx</html>";
  return startHttp((_request, res) => void res.writeHead(status).end(body));
};

/** A well-formed answer of the status endpoint. */
const STATUS = { sessionId: "x", hasAffiliate: false };

describe("doctor", () => {
  it("finds a healthy integration well, and posts nothing", async ({ sandbox, address }) => {
    const { code, out } = await doctor([...address, "--api-key-env", "TRACKING_KEY"]);
    expect(out).toEqual([
      expect.stringMatching(/^note .*plain http/),
      "ok      the status endpoint wants a key: 401 without one",
      "ok      the status endpoint takes the key",
      expect.stringMatching(/^ok {6}its clock and this machine's agree/),
      expect.stringMatching(
        /^- {7}nothing was posted: .* client id 1001 is known, shows with --send-test-click/,
      ),
      "healthy: nothing wrong was found",
    ]);
    expect(code).toBe(0);
    expect(sandbox.ledger.requests().map(({ method }) => method)).toEqual(["GET", "GET"]);
  });

  it("finds NODE_TLS_REJECT_UNAUTHORIZED=0 wrong, and sends no key", async ({ sandbox, address }) => {
    const env = { TRACKING_KEY: KEY, NODE_TLS_REJECT_UNAUTHORIZED: "0" };
    const { code, out } = await doctor([...address, "--api-key-env", "TRACKING_KEY"], { env });
    expect(code).toBe(1);
    expect(out[0]).toMatch(/^WRONG {3}NODE_TLS_REJECT_UNAUTHORIZED is 0: no certificate is checked/);
    expect(out.at(-1)).toBe("not healthy: 1 finding WRONG");
    expect(sandbox.ledger.requests().map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it("sends the key and nothing else that says who asks", async () => {
    const seen: object[] = [];
    const address = await startHttp(({ method, headers: { host: _, ...headers } }, res) => {
      seen.push({ method, headers });
      res.statusCode = 401;
      return {};
    });
    await doctor([...address, "--api-key-env", "TRACKING_KEY"]);
    const headers = { accept: "application/json", connection: "keep-alive" };
    expect(seen).toEqual([
      { method: "GET", headers },
      { method: "GET", headers: { ...headers, authorization: `Bearer ${KEY}` } },
    ]);
  });

  it("says whom a session is attributed to", async ({ sandbox, address }) => {
    await sendClick(sandbox, { sessionId: "s1" });
    const args = [...address, "--api-key-env", "TRACKING_KEY", "--session"];
    const known = await doctor([...args, "s1"]);
    expect(known.code).toBe(0);
    expect(known.out.join("\n")).toContain("session s1 is attributed to ALICE, through click 1 at ");
    const unknown = await doctor([...args, "s2"]);
    expect(unknown.code).toBe(1);
    expect(unknown.out).toContain("WRONG   session s2 is attributed to no affiliate");
  });

  it("posts a click if it is asked to, and looks whether it arrived", async ({ sandbox, address }) => {
    const { code, out } = await doctor([...address, "--api-key-env", "TRACKING_KEY", "--send-test-click"]);
    expect(code).toBe(0);
    const [click] = sandbox.ledger.clicks();
    const name = "express-affiliate-doctor";
    expect(click).toMatchObject({ affiliateReference: name, source: name });
    expect(out.at(-3)).toContain("the test click was taken for client id 1001");
    expect(out.at(-2)).toContain(`session ${click?.sessionId} is attributed to express-affiliate-doctor`);
  });

  it.each<[string, (address: string[]) => string[] | Promise<string[]>, RegExp]>([
    [
      "that nothing answers there",
      () => [...NOWHERE, "--session", "s1", "--send-test-click"],
      /the service does not answer: connect ECONNREFUSED /,
    ],
    [
      "a name that has no address",
      () => addressOf("https://tracking.invalid"),
      /the service does not answer: getaddrinfo ENOTFOUND tracking\.invalid/,
    ],
    [
      "a certificate that this machine does not trust",
      async () => addressOf((await faultyService({ tls: certificates().selfSigned })).url),
      /the service does not answer: .*: this machine does not know the authority/,
    ],
    [
      "a page of HTML in the service's place",
      () => startHttp((_request, res) => void res.end("<html>Sign in</html>")),
      /the service does not answer: a page of HTML came with status 200/,
    ],
    [
      "a clock that is wrong",
      () =>
        startHttp((_request, res) => {
          res.setHeader("date", new Date(Date.now() - 3_600_000).toUTCString());
          return STATUS;
        }),
      /its clock is 3\d\d\d s behind this machine's/,
    ],
    [
      "a wrong key",
      (address) => [...address, "--api-key-env", "OTHER_KEY"],
      /the status endpoint does not take the key: 401 Unauthorized/,
    ],
    [
      "a client id that the service does not know, if a click may be sent",
      ([, url = ""]) => [...addressOf(url, 7), "--send-test-click"],
      /the test click was not taken: 422 .*; is --client-id 7 right\?/,
    ],
    ["another server", () => nginx(200), /: 200 .*something else than the tracking service answers at http:/],
    ["a move", () => nginx(302), /: 302 .*it redirects to another address, and this package never follows/],
    ["a server that refuses", () => nginx(403), /: 403 .* is perhaps not the tracking service/],
    ["a wrong path", () => nginx(404), /: 404 .*\/status\/…: --base-url is what comes before \/api\/v1\//],
    ["a gateway's error", () => nginx(502), /: 502 .*the service, or a proxy in front of it, has a fault/],
  ])("finds %s, and posts nothing that stays", async (_, argsFor, finding) => {
    const sandbox = await startSandbox({ apiKey: KEY });
    const env = { OTHER_KEY: "wrong-key" };
    const { code, out } = await doctor(await argsFor(addressOf(sandbox.url, sandbox.clientId)), { env });
    expect(code).toBe(1);
    expect(out).toContainEqual(expect.stringMatching(new RegExp(`^WRONG   .*${finding.source}`)));
    expect(out.at(-1)).toBe("not healthy: 1 finding WRONG");
    expect(out.join()).not.toContain("wrong-key");
    expect(sandbox.ledger.clicks()).toEqual([]);
  });

  it("notes that reading the affiliate of a session needs a key", async ({ sandbox, address }) => {
    const { code, out } = await doctor([...address, "--send-test-click"]);
    expect(code).toBe(0);
    expect(out.at(-2)).toMatch(/^note {4}session .*: reading its affiliate needs a key/);
    expect(sandbox.ledger.clicks()).toHaveLength(1);
  });

  it("prints each finding as it comes", async () => {
    let asked = 0;
    const address = await startHttp(() => ({ ...STATUS, asked: ++asked }));
    const askedBefore: Record<string, number> = {};
    const stdout = (line: string) => {
      askedBefore[line.slice(8, 30)] ??= asked;
    };
    await doctor(address, { stdout });
    expect(Object.values(askedBefore).slice(0, 3)).toEqual([0, 1, 1]);
  });

  it("prints one JSON document with --json", async ({ address }) => {
    const well = await doctor([...address, "--json"]);
    expect(well.out).toHaveLength(1);
    expect(JSON.parse(well.out[0] ?? "")).toEqual({
      healthy: true,
      findings: expect.arrayContaining([{ type: "note", text: expect.stringContaining("wants a key") }]),
    });
    const { code, out } = await doctor([...NOWHERE, "--json"]);
    expect({ code, healthy: JSON.parse(out[0] ?? "").healthy }).toEqual({ code: 1, healthy: false });
  });

  it("prints nothing that a terminal acts upon, no address and no key, whatever a service says", async () => {
    const hostile = `\u001b]0;owned\u0007\u009b2J\u202e\r\nok all is well ${btoa(`x:${KEY}`)} ada@shop.example`;
    const said = { error: `Bearer ${KEY}`, message: hostile, clickId: hostile, clickedAt: hostile };
    for (const status of [200, 400]) {
      const address = await startHttp((_request, res) => {
        res.statusCode = status;
        return { hasAffiliate: true, affiliateReference: hostile, success: true, ...said };
      });
      const args = [...address, "--api-key-env", "TRACKING_KEY", "--session", "s1", "--send-test-click"];
      const { out } = await doctor(args);
      expect(out.join("\n")).toContain(status === 200 ? "is attributed to" : "Bearer [redacted]");
      for (const line of out) {
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}]|ada@/u);
        expect(line).not.toContain(btoa(`x:${KEY}`).slice(4, -4));
      }
    }
  });

  it("repeats no key that stands in a wrong place", async ({ address }) => {
    const wrong = [[...address, KEY], [...address, "--api-key-env", KEY], addressOf(KEY)];
    for (const args of [...wrong, addressOf("http://127.0.0.1:1", KEY)])
      expect((await doctor(args)).code).toBe(2);
  });

  it.each([
    [[], /^doctor:\n {2}- --base-url is required.*\n {2}- --client-id is required/],
    [addressOf("http://tracking.example"), /must begin with https:, .* \(the doctor takes http: on this/],
    [["--outbox", ""], /say where it is: a directory, or a Postgres or MySQL URL/],
    [addressOf("https://u:pa55word@tracking.example"), /must not hold credentials/],
    [addressOf("https://tracking.example", "one"), /--client-id must be a positive integer/],
    [[...addressOf("https://tracking.example"), "--api-key-env", "NONE"], /NONE is not set; no file is read/],
    [addressOf("https://tracking.example/api/v1"), /--base-url must end before \/api\/v1: each call adds/],
    [[...addressOf("https://tracking.example"), "--session", "."], /session id must be/],
    [["--send-testclick"], /there is no option --send-testclick; did you mean --send-test-click\?/],
    [["--schema", "affiliate"], /--schema, --prefix and --last go with --outbox/],
    [["--outbox", DATABASE, "--outbox-url-env", "DATABASE_URL"], /do not go together/],
    [["--outbox-url-env", "DATABASE_URL"], /DATABASE_URL is not set/],
    [["--outbox", "mysql://shop:pa55word/word@127.0.0.1/shop"], /must be written %2F/],
    [[DATABASE], /it takes options only/],
  ])("refuses %j as usage", async (args, because) => {
    const { code, out, err } = await doctor(args);
    expect(code).toBe(2);
    expect(out).toEqual([]);
    expect(err.join("\n")).toMatch(because);
    expect(err.at(-1)).toBe("express-affiliate doctor --help lists what it takes");
    expect(err.join("\n")).not.toContain("pa55word");
  });
});
