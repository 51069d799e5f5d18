import { stat } from "node:fs/promises";
import type { Socket } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../src/delivery/outcome.js";
import type { Attempt } from "../../src/service/attempt.js";
import type { TransportOptions } from "../../src/service/transport.js";
import { errorCodeOf } from "../../src/shared/errors.js";
import { certificates } from "../helpers/certificates.js";
import {
  answering,
  type Behaviour,
  closedPort,
  type FaultyService,
  faultyService,
  hangingUp,
  resetting,
  saying,
  silent,
} from "../helpers/faulty-service.js";
import { fixture } from "../helpers/fixture.js";
import { type Answer, startService } from "../helpers/service.js";
import { withResolvers } from "../helpers/with-resolvers.js";
import { post, transportTo } from "./helpers.js";

const judge = (attempt: Attempt) => outcomeOf(attempt, { maybeTaken: false, now: Date.now() }).type;
const codeOf = (attempt: Attempt) =>
  attempt.type === "answer" ? attempt.status : errorCodeOf(attempt.error);

const withBody =
  (body: string | Buffer, headers: Record<string, string> = {}): Answer =>
  (_request, res) =>
    void res.writeHead(200, headers).end(body);

const UTF_16 = { "content-type": "application/json; charset=utf-16le" };

describe("a request whose head never left", () => {
  const tlsTo = ({ port }: FaultyService) => `https://127.0.0.1:${port}`;

  it.each<[string, () => Promise<string>, ReturnType<typeof codeOf>[], Partial<TransportOptions>?]>([
    ["is refused", async () => `http://127.0.0.1:${await closedPort()}`, ["ECONNREFUSED"]],
    [
      "has no address, for the name does not resolve",
      async () => "http://no-such-host.invalid",
      ["ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "ERR_DEADLINE"],
    ],
    [
      // The service takes it and never says a word of TLS.
      "is not made in time",
      async () => tlsTo(await faultyService()),
      ["UND_ERR_CONNECT_TIMEOUT"],
      { connectTimeoutMs: 100, timeoutMs: 10_000 },
    ],
    [
      "is reset before it stands",
      async () => tlsTo(await faultyService({ onConnection: (socket) => void socket.resetAndDestroy() })),
      ["ECONNRESET"],
    ],
  ])("fails if the connection %s", async (_name, address, codes, options) => {
    const attempt = await transportTo(await address(), options).send(post);
    expect(judge(attempt)).toBe("unreachable");
    expect(codes).toContain(codeOf(attempt));
  });

  it("fails if no connection becomes free in time, and is not sent later", async () => {
    const service = await faultyService({ onRequest: silent });
    // Both deadlines at the same moment: a millisecond between them would be enough for the second
    // to be sent.
    const deadlines: (() => void)[] = [];
    let time = 0;
    const after = (_ms: number, task: () => void) => {
      deadlines.push(task);
      return () => {};
    };
    const clock = { now: Date.now, monotonic: () => time, after };
    const transport = transportTo(service.url, { connections: 1, timeoutMs: 100, clock });
    const attempts = Promise.all([transport.send(post), transport.send(post)]);
    await expect.poll(() => service.requests.length).toBe(1);
    time = 100;
    for (const end of deadlines.splice(0)) end();
    const [first, second] = await attempts;
    expect(first).toMatchObject({ type: "no-answer", requestSent: true });
    expect(second).toMatchObject({ type: "no-answer", requestSent: false });
    service.onRequest = answering(200);
    expect(judge(await transport.send(post))).toBe("delivered");
    expect(service.requests).toHaveLength(2);
  });

  it("is not sent if it must not be by the time that a connection is free", async () => {
    let isHeld = true;
    const service = await faultyService({
      onRequest(...args) {
        isHeld = false;
        answering(200)(...args);
      },
    });
    const transport = transportTo(service.url, { connections: 1 });
    const first = transport.send(post);
    const attempt = await transport.send(post, { mayLeave: () => isHeld });
    expect(judge(await first)).toBe("delivered");
    expect([judge(attempt), codeOf(attempt)]).toEqual(["unsent", "ERR_CLAIM_LOST"]);
    expect(service.requests).toHaveLength(1);
  });

  it("is known never to be sendable if undici cannot send it at all, or if its body is no JSON", async () => {
    const service = await faultyService();
    const attempt = await transportTo(service.url).send({ ...post, idempotencyKey: "two\nlines" });
    expect([judge(attempt), codeOf(attempt)]).toEqual(["unsendable", "UND_ERR_INVALID_ARG"]);
    const pathless = await transportTo(service.url).send({ ...post, path: undefined as never });
    expect(judge(pathless)).toBe("unsendable");
    const bodiless = await transportTo(service.url).send({ ...post, body: { amount: 1n } });
    expect([judge(bodiless), codeOf(bodiless)]).toEqual(["unsendable", "ERR_UNSENDABLE"]);
  });
});

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

it.each<[string, Behaviour, string]>([
  // The very code that a reset before the head has.
  ["is read, and the connection reset", resetting, "ECONNRESET"],
  ["is read, and the connection closed", hangingUp, "UND_ERR_SOCKET"],
  ["is never answered", silent, "ERR_DEADLINE"],
  ["is answered by half a head", saying("HTTP/1.1 200 OK\r\nContent-Le"), "ERR_DEADLINE"],
  [
    "is answered by half a head, and the connection closed",
    (socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-"),
    "UND_ERR_SOCKET",
  ],
  ["is answered by garbage", saying("\0\x01secret-key lalala\r\n\r\n"), "HTTPParserError"],
  [
    "is answered by 101",
    saying("HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
    "UND_ERR_SOCKET",
  ],
  ["is answered by 100 alone", saying("HTTP/1.1 100 Continue\r\n\r\n"), "UND_ERR_SOCKET"],
  [
    "is answered by 100, unasked, before the answer",
    saying(`HTTP/1.1 100 Continue\r\n\r\n${OK}`),
    "UND_ERR_SOCKET",
  ],
  ["is answered by 103 alone", saying("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"), "ERR_DEADLINE"],
])("a request whose head left is ambiguous if it %s", async (name, onRequest, code) => {
  const service = await faultyService({ onRequest });
  const timeoutMs = code === "ERR_DEADLINE" ? 1_000 : 10_000;
  const attempt = await transportTo(service.url, { timeoutMs }).send(post);
  expect([judge(attempt), codeOf(attempt)]).toEqual(["ambiguous", code]);
  expect(service.requests).toHaveLength(1);
  const shown = inspect(attempt, { depth: 9, showHidden: true });
  expect(shown).not.toContain("secret-key");
  expect(shown.includes("sent `100 Continue` unasked")).toBe(name.includes("by 100"));
});

describe("an answer whose head arrived", () => {
  it.each<[string, Behaviour]>([
    ["breaks off", (socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")],
    ["never ends", saying("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")],
    ["is no JSON", saying("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK")],
    ["comes after a 102", saying(`HTTP/1.1 102 Processing\r\n\r\n${OK}`)],
    ["comes after a 103", saying(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}`)],
    ["has more than its length", saying(`${OK}HTTP/1.1 500 No\r\n\r\n`)],
    ["comes after a head of 50 KB", answering(200, {}, `set-cookie: ${"x".repeat(5_000)}\r\n`.repeat(10))],
    ["is in chunks that are none", saying("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzzz\r\n")],
  ])("is delivered with its 200, though its body %s", async (_name, onRequest) => {
    const service = await faultyService({ onRequest });
    const attempt = await transportTo(service.url, { timeoutMs: 1_000 }).send(post);
    expect(attempt).toMatchObject({ type: "answer", status: 200 });
    expect(judge(attempt)).toBe("delivered");
  });

  it("is read no further than 64 KiB of its body", async () => {
    const MIB = 1024 * 1024;
    let written = 0;
    const service = await faultyService({
      onRequest(socket) {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${64 * MIB}\r\n\r\n`);
        const more = () => {
          while (written < 64 * MIB && !socket.destroyed) {
            written += 65_536;
            if (!socket.write(Buffer.alloc(65_536, 32))) return;
          }
        };
        socket.on("drain", more);
        more();
      },
    });
    const attempt = await transportTo(service.url, { timeoutMs: 10_000 }).send(post);
    expect(attempt).toEqual({ type: "answer", status: 200, body: undefined });
    // The rest of what was written lies in the two sockets' buffers.
    expect(written).toBeLessThan(16 * MIB);
  });

  it("is read to its end if its body is 64 KiB of JSON", async () => {
    const body = { text: "x".repeat(65_000) };
    const service = await faultyService({ onRequest: answering(200, body) });
    expect(await transportTo(service.url).send(post)).toEqual({ type: "answer", status: 200, body });
  });

  const error = { error: "Unauthorized", message: "invalid or missing API key", status: 401 };

  it.each<[string, Answer, ReturnType<typeof judge>]>([
    ["no in gzip", withBody(gzipSync('{"success":false}'), { "content-encoding": "gzip" }), "rejected"],
    ["no in UTF-16", withBody(Buffer.from('{"success":false}', "utf16le"), UTF_16), "rejected"],
    [
      "one that asks for a pause",
      withBody(JSON.stringify({ ...error, status: 429 }), { "retry-after": "7" }),
      "throttled",
    ],
  ])("says %s by its body, whatever its 200 says", async (_name, answer, outcome) => {
    const { url } = await startService(answer);
    expect(judge(await transportTo(url).send(post))).toBe(outcome);
  });

  it("keeps its own status if it is no 2xx, and has its Retry-After and its Date", async () => {
    const { url } = await startService(
      (_request, res) => void res.writeHead(500, { "retry-after": "7" }).end(JSON.stringify(error)),
    );
    const date = expect.stringMatching(/ GMT$/);
    const said = { type: "answer", status: 500, retryAfter: "7", date, body: error };
    expect(await transportTo(url).send(post)).toEqual(said);
  });

  it("is a redirect like any other answer: it is not followed, and the key goes nowhere else", async () => {
    const elsewhere = await faultyService();
    for (const status of [301, 302, 303, 307, 308]) {
      const onRequest = answering(status, {}, `location: ${elsewhere.url}/\r\n`);
      const service = await faultyService({ onRequest });
      const attempt = await transportTo(service.url).send(post);
      expect([judge(attempt), codeOf(attempt)]).toEqual(["refused", status]);
    }
    expect(elsewhere.connections.total).toBe(0);
  });
});

const attempts = fixture("attempt");
const made = certificates();

it("a certificate leaves the service unreachable when it is expired, not yet valid, another's, or signed by an unknown authority", async () => {
  const cases = [made.valid, made.expired, made.notYetValid, made.ofAnother, made.selfSigned];
  const services = await Promise.all(cases.map((tls) => faultyService({ tls })));
  const run = attempts(
    services.map(({ url }) => url),
    { NODE_EXTRA_CA_CERTS: made.authorityFile },
  );
  expect((await run.over).stderr).toBe("");
  expect(run.said).toEqual([
    { type: "delivered", code: 200 },
    { type: "unreachable", code: "CERT_HAS_EXPIRED" },
    { type: "unreachable", code: "CERT_NOT_YET_VALID" },
    { type: "unreachable", code: "ERR_TLS_CERT_ALTNAME_INVALID" },
    { type: "unreachable", code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
  ]);
  expect(services.map(({ requests }) => requests.length)).toEqual([1, 0, 0, 0, 0]);
});

describe("connections", () => {
  it("are never more than were allowed, and are used again", async () => {
    const service = await faultyService({ onRequest: (...args) => setImmediate(answering(200), ...args) });
    const transport = transportTo(service.url, { connections: 3, timeoutMs: 10_000 });
    await Promise.all(Array.from({ length: 300 }, () => transport.send(post)));
    expect(service.connections.most).toBe(3);
    expect(service.connections.total).toBe(3);
  });

  it("are left before a request is written if the service has closed them while they idled", async () => {
    const service = await faultyService({
      onRequest: (socket, ...rest) => {
        answering(200)(socket, ...rest);
        socket.end();
      },
    });
    const transport = transportTo(service.url, { connections: 1 });
    for (let n = 0; n < 200; n++) expect(judge(await transport.send(post))).toBe("delivered");
    expect(service.requests).toHaveLength(200);
  });

  it.each([
    ["says nothing of it", ""],
    ["announces a minute", "keep-alive: timeout=60\r\n"],
  ])("are not used again after a second without a request if the service %s", async (_name, headers) => {
    const service = await faultyService({ onRequest: answering(200, undefined, headers) });
    const transport = transportTo(service.url, { connections: 1 });
    expect(judge(await transport.send(post))).toBe("delivered");
    expect(judge(await transport.send(post))).toBe("delivered");
    expect(service.connections.total).toBe(1);
    // Here time itself is what is tested. Both timers are of one event loop, so the shorter one
    // fires first, under load too.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(judge(await transport.send(post))).toBe("delivered");
    expect(service.connections.total).toBe(2);
  });

  it("are left before a request is written if the service has closed them while this process stood still", async () => {
    const sockets: Socket[] = [];
    const service = await faultyService({ onConnection: (socket) => void sockets.push(socket) });
    const transport = transportTo(service.url, { connections: 1 });
    expect(judge(await transport.send(post))).toBe("delivered");
    // From here the event loop writes before it reads.
    await stat(import.meta.filename);
    sockets[0]?.destroy();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    expect(judge(await transport.send(post))).toBe("delivered");
    expect(service.requests).toHaveLength(2);
  });

  it("are made anew after every kind of end", async () => {
    const service = await faultyService();
    const transport = transportTo(service.url, { connections: 1, timeoutMs: 1_000 });
    for (const fault of [resetting, hangingUp, silent, saying("rubbish\r\n\r\n")]) {
      service.onRequest = fault;
      expect(judge(await transport.send(post))).toBe("ambiguous");
      service.onRequest = answering(200);
      expect(judge(await transport.send(post))).toBe("delivered");
    }
  });
});

describe("abort", () => {
  it("ends what is under way, each with what is known of it", async () => {
    const read = withResolvers<unknown>();
    const service = await faultyService({ onRequest: read.resolve });
    const transport = transportTo(service.url, { connections: 1, timeoutMs: 60_000 });
    const attempts = [transport.send(post), transport.send(post)];
    await read.promise;
    transport.abort();
    expect(await Promise.all(attempts)).toMatchObject([
      { type: "no-answer", requestSent: true, error: { code: "ERR_ABORTED" } },
      { type: "no-answer", requestSent: false, error: { code: "ERR_ABORTED" } },
    ]);
  });

  it("is what a closed transport answers with", async () => {
    const service = await faultyService();
    const transport = transportTo(service.url);
    await transport.close();
    const attempt = await transport.send(post);
    expect(attempt).toMatchObject({ type: "no-answer", requestSent: false });
    expect(service.connections.total).toBe(0);
  });
});
