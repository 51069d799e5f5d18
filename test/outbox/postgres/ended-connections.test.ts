import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { postgresOutbox } from "express-affiliate/postgres";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";

/** A message of PostgreSQL's protocol. */
function message(type: string, body: string): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, Buffer.from(body)]);
}

const AUTHENTICATED = message("R", "\0\0\0\0");
const READY = message("Z", "I");
const ENDED = message("E", "SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");

/** A server that is stopped at the moment when it has taken a connection. */
async function stoppingServer() {
  let taken = 0;
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .once("data", () => {
        taken++;
        socket.end(Buffer.concat([AUTHENTICATED, READY, ENDED]));
      });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const pool = new pg.Pool({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, user: "shop" });
  onTestFinished(async () => {
    await pool.end();
    server.close();
  });
  return { pool, taken: () => taken };
}

// Without a listener, the error would be an uncaught one: it ends a host, and fails the run.
test("a connection that ends when the outbox gets it does not end the process", async () => {
  const { pool, taken } = await stoppingServer();
  const outbox = postgresOutbox({ pool });

  await expect(outbox.look()).rejects.toThrow("not queryable");

  expect(taken()).toBeGreaterThan(1);
  await outbox.close();
});
