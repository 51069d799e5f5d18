import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** nginx before the service, at its defaults: it answers 502 while the service is down. */
export async function startNginx(directory, upstream) {
  const port = await freePort();
  const home = join(directory, "nginx");
  mkdirSync(home, { recursive: true });
  const config = join(home, "nginx.conf");
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${home}/${name};`)
    .join(" ");
  writeFileSync(
    config,
    `pid ${home}/pid; daemon off; worker_processes 1; error_log /dev/null;
     events { worker_connections 4096; }
     http { access_log off; ${temp}
       server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${upstream}; } } }`,
  );
  return startServer("nginx", ["-p", home, "-c", config], port);
}

/** Redis with its append-only file, as BullMQ's guide for production asks. */
export async function startRedis(directory) {
  const port = await freePort();
  const settings = { port, bind: "127.0.0.1", dir: directory, save: "", appendonly: "yes" };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  return startServer("redis-server", [...flags, "--maxmemory-policy", "noeviction"], port);
}

async function startServer(program, flags, port) {
  const server = spawn(program, flags, { stdio: "ignore" });
  await listening(port);
  return { port, stop: () => server.kill("SIGTERM") };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function listening(port) {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isThere = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await sleep(50);
  }
}
