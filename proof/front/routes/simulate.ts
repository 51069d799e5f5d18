import { connect } from "node:net";
import { startHost, type Visit } from "./host.js";
import { expectedOf, type Script, scriptOf } from "./script.js";

const AT_ONCE = 40;

/**
 * Visits to apps of Express 4 and 5, over real sockets: wrapped handlers answer early, late, twice,
 * never, through callbacks, streams and `next`, or fail, and visitors hang up. A payment is to be
 * reported, once, if and only if its visitor got an answer below 400 or hung up on one.
 */
export async function simulateRoutes(seed: number, count: number) {
  const visits: Visit[] = Array.from({ length: count }, (_, nth) => ({
    script: scriptOf(`${seed} ${nth}`),
    seen: { begun: false, head: undefined, closed: false, failedInTime: false },
  }));
  const hosts = {
    "Express 4": await startHost("Express 4", visits),
    "Express 5": await startHost("Express 5", visits),
  };
  const waiting = visits.keys();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const nth of waiting) {
        const { script } = visits[nth] as Visit;
        await visit(hosts[script.express].port, nth, script.hangsUp);
      }
    }),
  );
  /** What is missing, repeated or too much: one sentence each, with the script. */
  const wrong: string[] = [];
  for (const [name, host] of Object.entries(hosts)) {
    const unsettled = await host.end();
    if (unsettled > 0) wrong.push(`${name}: ${unsettled} promises of \`waitUntil\` are not settled`);
    const { duplicates } = host.tracker.stats();
    if (duplicates > 0) wrong.push(`${name}: ${duplicates} payments were reported twice`);
  }
  const reported = new Set(Object.values(hosts).flatMap((host) => host.reported()));
  let expected = 0;
  for (const [nth, { script, seen }] of visits.entries()) {
    const times = expectedOf(script, seen);
    expected += times;
    if (times !== Number(reported.has(nth)))
      wrong.push(
        `visit ${nth} of seed ${seed}: ${times ? "not reported" : "reported"}, ${JSON.stringify({ script, seen })}`,
      );
  }
  return {
    // Visitors who got the head of a response, and visitors who hung up before it.
    answered: visits.filter(({ seen }) => seen.head !== undefined).length,
    hungUp: visits.filter(({ seen }) => seen.begun && seen.head === undefined).length,
    expected,
    reported: reported.size,
    wrong,
  };
}

function visit(port: number, nth: number, hangsUp: Script["hangsUp"]): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.once("close", () => resolve());
    socket.once("connect", () => {
      socket.write(
        `POST /${nth} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nCookie: svc_session_id=s${nth}\r\n\r\n`,
      );
      if (typeof hangsUp === "number") setTimeout(() => socket.destroy(), hangsUp);
    });
    if (hangsUp === "at the first byte") socket.once("data", () => socket.destroy());
    else socket.resume();
  });
}
