import { beforeAll, expect, it } from "vitest";
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
import { fixture, type Run } from "../helpers/fixture.js";

const host = fixture("host");
const faultyService = faultyServices();
const MAX_EVENTS = 250;

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
  ...[resetting, hangingUp, silent, saying("\0\r\n\r\n")],
  ...[answering(500), answering(200), answering(429)],
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

const NO_SERVICE = "is not there";
let run: Run;

beforeAll(async () => {
  const services = await Promise.all(FAULTS.map(([, options]) => faultyService(options)));
  run = host([[...services.map(({ url }) => url), `http://127.0.0.1:${await closedPort()}`], 40, MAX_EVENTS]);
  expect(await run.over).toEqual({ code: 0, signal: null, stderr: "" });
});
it.each([...FAULTS.map(([name]) => name), NO_SERVICE].map((name, nth) => [name, nth] as const))(
  "a host does not notice that the service %s",
  (name, nth) => {
    const { grown, queued, mostSockets, ...noticed } = run.said[nth];
    expect(noticed).toEqual({ noticed: [], statuses: "", thrown: true });
    expect(queued).toBeLessThanOrEqual(MAX_EVENTS);
    // Two and a half thousand payments went by; those that are kept were there before.
    expect(grown).toBeLessThan(1_000_000);
    expect(mostSockets).toBeLessThanOrEqual(name === NO_SERVICE ? 0 : 4);
  },
);
