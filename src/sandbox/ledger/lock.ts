import { createHash } from "node:crypto";
import { once } from "node:events";
import { rmSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

/**
 * Keeps a file for this process until the returned function is called or the process ends, also by
 * `kill -9`. Resolves with `undefined` if another has it. It is a name to listen on, which the system
 * frees; a process number would stay, and be another process's next time.
 */
export async function lock(path: string): Promise<(() => void) | undefined> {
  // By its folder's number: containers that share a network may give another file the same path.
  const { dev, ino } = statSync(dirname(path));
  const digest = createHash("sha256")
    .update(`${dev} ${ino} ${basename(path)}`)
    .digest("hex");
  const name = `express-affiliate-${digest.slice(0, 32)}`;
  const { platform } = process;
  if (platform === "win32") return listenOn(`\\\\.\\pipe\\${name}`);
  // No file: a name in the machine's or the container's network.
  if (platform === "linux") return listenOn(`\0${name}`);
  const socket = join(tmpdir(), name);
  const unlock = await listenOn(socket);
  if (unlock || (await isAnswered(socket))) return unlock;
  rmSync(socket, { force: true });
  return listenOn(socket);
}

async function listenOn(name: string): Promise<(() => void) | undefined> {
  const server = createServer((socket) => socket.destroy()).unref();
  // `exclusive`: in a cluster, the workers would share it.
  server.listen({ path: name, exclusive: true });
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
  return () => void server.close();
}

/** Whether a process listens there. After a kill the name stays, and no process answers. */
async function isAnswered(name: string): Promise<boolean> {
  const socket = connect(name);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
