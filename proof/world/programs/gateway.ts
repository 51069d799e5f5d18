import { once } from "node:events";
import { chownSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "../../../test/helpers/own-server.js";
import { startProgram } from "../../shared/program.js";
import { scratch } from "../../shared/scratch.js";

/** A program that passes requests on to a service. */
export interface Gateway {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * @param file the name of its configuration.
 * @param configuration given the port that it listens on, and its directory.
 * @param command given the path of its configuration, the port, and the directory.
 * @param options.port that it listens on. Default: a free one.
 * @param options.owner the user that it runs as. Default: that of this process.
 * @param options.endedBy the signal that ends it. Default: SIGTERM.
 */
export async function startGateway(
  file: string,
  configuration: (port: number, directory: string) => string,
  command: (path: string, port: number, directory: string) => readonly string[],
  options: {
    readonly port?: number;
    readonly owner?: { readonly uid?: number; readonly gid?: number };
    readonly endedBy?: "SIGKILL";
  } = {},
): Promise<Gateway> {
  const { port = await freePort(), owner: { uid, gid } = {}, endedBy } = options;
  const directory = scratch();
  const path = join(directory, file);
  writeFileSync(path, configuration(port, directory));
  if (uid !== undefined && gid !== undefined) for (const each of [directory, path]) chownSync(each, uid, gid);
  const place = { uid, gid, cwd: directory, env: process.env };
  const { stop } = await startProgram(command(path, port, directory), place, () => listens(port));
  return { url: `http://127.0.0.1:${port}`, port, stop: () => stop(endedBy) };
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isThere = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isThere;
}
