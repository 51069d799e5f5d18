import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Part } from "../shared/part.js";

const HOST = fileURLToPath(new URL("./processes/dual-stack-host.js", import.meta.url));
// Without a way out: only what the host sets up is there.
const IN_A_NETWORK_OF_ITS_OWN = ["--map-root-user", "--net", "--mount", "--fork", "--kill-child"];

export default {
  title: "a service with an A and an AAAA record, on slow routes and routes that lead nowhere",
  async prove() {
    const command = [...IN_A_NETWORK_OF_ITS_OWN, process.execPath, HOST];
    const said = execFileSync("unshare", command, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    const { payments, results } = JSON.parse(said);
    return Object.entries<number>(results).map(([what, measured]) => ({
      what: `${what}: payments that arrive at the first attempt`,
      measured,
      atLeast: payments,
    }));
  },
} satisfies Part;
