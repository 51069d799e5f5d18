import type { SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import { runNode } from "./user-project.js";

/** A host of its own, in CommonJS, with the package as it is installed: its lines, and how it ends. */
export function startHost(
  script: string,
  {
    args = [],
    cwd = process.cwd(),
    ...options
  }: SpawnOptions & { args?: string[]; cwd?: string; by?: readonly string[] } = {},
) {
  const required = (subpath: string) => JSON.stringify(join(inject("builtPackage"), `dist/${subpath}.cjs`));
  const preamble = `
    const { affiliate } = require(${required("index")});
    const { diskOutbox } = require(${required("disk")});
    const say = (word) => require("node:fs").writeSync(1, word + "\\n");
    const event = { id: "e", destination: 1, kind: "click", data: { clickId: "c", affiliateReference: "A" }, createdAt: Date.now() };
    const payment = (paymentId) => ({ paymentId, customerEmail: "ann@shop.example", leadValue: 9 });
    const logger = { warn() {}, error() {} };
    const die = () => process.kill(process.pid, "SIGKILL");
  `;
  const host = runNode(cwd, [...args, "-e", preamble + script], options);
  const said: string[] = [];
  createInterface({ input: host.stdout as Readable }).on("line", (line) => said.push(line));
  const ended = Promise.all([once(host, "close"), text(host.stderr as Readable)]).then(
    ([[code], errors]) => ({ code, said, errors }),
  );
  return { host, said, ended };
}
