import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Part } from "../shared/part.js";

const HOST = fileURLToPath(new URL("./processes/dual-stack-host.js", import.meta.url));
// Without a way out: only what the host sets up is there.
const IN_A_NETWORK_OF_ITS_OWN = ["--map-root-user", "--net", "--mount", "--fork", "--kill-child"];

function inNamespace(...command: string[]): string {
  return execFileSync("unshare", [...IN_A_NETWORK_OF_ITS_OWN, ...command], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function isPermitted(): boolean {
  try {
    inNamespace("ip", "link", "add", "here", "type", "veth", "peer", "name", "there");
    return true;
  } catch {
    return false;
  }
}

export default {
  title: "a service with an A and an AAAA record, on slow routes and routes that lead nowhere",
  async prove() {
    if (!isPermitted()) {
      const what = "nothing is shown: this machine permits no network namespace";
      return [{ what, measured: 0, atLeast: process.env.CI ? 1 : 0 }];
    }
    const { payments, results } = JSON.parse(inNamespace(process.execPath, HOST)) as {
      payments: number;
      results: Record<string, number>;
    };
    return Object.entries(results).map(([what, measured]) => ({
      what: `${what}: payments that arrive at the first attempt`,
      measured,
      atLeast: payments,
    }));
  },
} satisfies Part;
