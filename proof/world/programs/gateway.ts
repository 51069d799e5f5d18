import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { closedPort } from "../../../test/helpers/faulty-service.js";

/** A program that passes requests on to a service. */
export interface Gateway {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a gateway before the service on a port of this machine. */
export type StartGateway = (servicePort: number) => Promise<Gateway>;

/**
 * @param file the name of its configuration.
 * @param configuration given the port that it listens on, and its directory.
 * @param command given the path of its configuration, the port, and the directory.
 * @param port that it listens on. Default: a free one.
 */
export async function startGateway(
  file: string,
  configuration: (port: number, directory: string) => string,
  command: (path: string, port: number, directory: string) => readonly string[],
  port?: number,
): Promise<Gateway> {
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-gateway-"));
  port ??= await closedPort();
  const path = join(directory, file);
  writeFileSync(path, configuration(port, directory));
  const [program = "", ...args] = command(path, port, directory);
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const ended = once(child, "close");
  await Promise.race([
    listening(port),
    ended.then(() => {
      throw new Error(`${program} has ended: ${said}`);
    }),
  ]);
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill();
      await ended;
      rmSync(directory, { recursive: true });
    },
  };
}

async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isThere = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await sleep(20);
  }
}
