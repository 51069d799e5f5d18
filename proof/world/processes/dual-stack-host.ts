import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { scratch } from "../../shared/scratch.js";
import { trackerOf, trackNth } from "../../shared/tracker.js";

/**
 * A host in a network and mount namespace of its own, and a service in another network namespace,
 * with an A and an AAAA record. A route's gateway exists only as an entry of the neighbour table:
 * until it is there, the kernel keeps the SYN, so the handshake takes as long as the host wants.
 * Prints for each route how many payments arrived at the first attempt, as JSON.
 */
const HOST = "tracking.test";
const PORT = 8080;
const HANDSHAKE_MS = 400;
const PAYMENTS = 5;
const GATEWAYS = { A: "10.9.0.9", AAAA: "fd09::9" };

type Family = keyof typeof GATEWAYS;

const run = (line: string) => execFileSync("sh", ["-c", line], { encoding: "utf8", stdio: "pipe" });

const service = spawn("unshare", [
  ...["--net", process.execPath, "--eval"],
  `require("node:http").createServer((q, s) => q.resume().on("end", () => s.end('{"success":true}')))
    .listen(${PORT}, "::", () => console.log("listening"))`,
]);
await once(service.stdout, "data");
const there = `nsenter --target ${service.pid} --net`;

run(
  `ip link set lo up && ip link add here type veth peer name there && ip link set there netns ${service.pid}`,
);
run("ip addr add 10.9.0.1/24 dev here && ip -6 addr add fd09::1/64 dev here nodad && ip link set here up");
run(`${there} sh -c 'ip addr add 10.9.0.2/24 dev there && ip -6 addr add fd09::2/64 dev there nodad &&
  ip link set there up && ip link set lo up && ip addr add 10.8.0.1/32 dev lo && ip -6 addr add fd08::1/128 dev lo nodad'`);
run(
  `ip route add 10.8.0.1 via ${GATEWAYS.A} dev here && ip -6 route add fd08::1 via ${GATEWAYS.AAAA} dev here`,
);
const [, mac] = /ether (\S+)/.exec(run(`${there} ip -o link show there`)) ?? [];
const hosts = join(scratch(), "hosts");
writeFileSync(hosts, `10.8.0.1 ${HOST}\nfd08::1 ${HOST}\n`);
run(`mount --bind ${hosts} /etc/hosts`);

const open = (family: Family) =>
  run(`ip neigh replace ${GATEWAYS[family]} lladdr ${mac} dev here nud permanent`);
const shut = (family: Family) => run(`ip neigh del ${GATEWAYS[family]} dev here || true`);

/** How many payments, each on a connection of its own, arrive at the first attempt. */
async function arrivedAtOnce(later: readonly Family[], atOnce: readonly Family[] = []): Promise<number> {
  let arrived = 0;
  for (let nth = 0; nth < PAYMENTS; nth++) {
    shut("A");
    shut("AAAA");
    atOnce.forEach(open);
    const tracker = trackerOf(`http://${HOST}:${PORT}`, { allowInsecure: true });
    const attempt = new Promise((resolve) => tracker.on("attempt", resolve));
    const ended = new Promise<number>((resolve) => {
      tracker.on("delivered", ({ attempts }) => resolve(Number(attempts === 1)));
      tracker.on("retry", () => resolve(0));
    });
    await trackNth(tracker, "payment", "payer", 1 + nth);
    await attempt;
    await sleep(HANDSHAKE_MS);
    later.forEach(open);
    arrived += await ended;
    await tracker.close();
  }
  return arrived;
}

const results: Record<string, number> = {
  "the AAAA record leads nowhere": await arrivedAtOnce([], ["A"]),
  "the A record leads nowhere, the other handshake takes 400 ms": await arrivedAtOnce(["AAAA"]),
  "both take 400 ms": await arrivedAtOnce(["A", "AAAA"]),
};
run("ip -6 route del fd08::1 && ip -6 addr del fd09::1/64 dev here");
results["there is no IPv6 here, and the other takes 400 ms"] = await arrivedAtOnce(["A"]);

console.log(JSON.stringify({ payments: PAYMENTS, results }));
service.kill("SIGKILL");
process.exit();
