import { describe, expect, it } from "vitest";
import {
  answering,
  type Behaviour,
  closedPort,
  type FaultyServiceOptions,
  faultyServices,
  hangingUp,
  resetting,
  saying,
  silent,
} from "../helpers/faulty-service.js";
import { fixture } from "../helpers/fixture.js";

const host = fixture("host");
const faultyService = faultyServices();
const MAX_EVENTS = 500;
const unnoticed = { noticed: [], statuses: "", thrown: true };

const flooding: Behaviour = (socket) => {
  socket.write("HTTP/1.1 200 OK\r\ncontent-length: 67108864\r\n\r\n");
  const more = () => {
    while (!socket.destroyed && socket.write(Buffer.alloc(65_536, 32)));
  };
  socket.on("drain", more);
  more();
};
let turn = 0;
const mixed = [
  resetting,
  hangingUp,
  silent,
  answering(500),
  answering(200),
  answering(429),
  saying("\0\r\n\r\n"),
];
const FAULTS: [string, FaultyServiceOptions][] = [
  ["answers 500", { onRequest: answering(500) }],
  ["answers 401", { onRequest: answering(401, { error: "Unauthorized", message: "key key key" }) }],
  ["never answers", { onRequest: silent }],
  ["resets every request", { onRequest: resetting }],
  ["resets every connection", { onConnection: (socket) => void socket.resetAndDestroy() }],
  ["hangs up", { onRequest: hangingUp }],
  ["answers with garbage", { onRequest: saying("\0\x01 no http \r\n\r\n") }],
  ["floods its callers", { onRequest: flooding }],
  [
    "does something else each time",
    { onRequest: (...args) => (mixed[turn++ % mixed.length] as Behaviour)(...args) },
  ],
  ["is well", {}],
];

describe.concurrent("a host does not notice", () => {
  it.each(FAULTS)("that the service %s", async (_name, options) => {
    const service = await faultyService(options);
    const run = host([service.url, 40, MAX_EVENTS]);
    expect(await run.over).toEqual({ code: 0, signal: null, stderr: "" });
    const [{ grown, queued, mostSockets, ...noticed }] = run.said;
    expect(noticed).toEqual(unnoticed);
    expect(queued).toBeLessThanOrEqual(MAX_EVENTS);
    // Five thousand payments went by; those that are kept were there before.
    expect(grown).toBeLessThan(2_000_000);
    expect(mostSockets).toBeLessThanOrEqual(4);
  });

  it("that there is no service at all", async () => {
    const run = host([`http://127.0.0.1:${await closedPort()}`, 40, MAX_EVENTS]);
    expect(await run.over).toEqual({ code: 0, signal: null, stderr: "" });
    expect(run.said).toMatchObject([unnoticed]);
  });
});
