import { beforeAll } from "vitest";
import { testOutbox } from "../../contract/index.js";
import type { Address } from "../../helpers/cluster.js";
import { type Link, startLink } from "../../helpers/link.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import type { SqlDatabase } from "../../helpers/sql-database.js";

const LEASE_MS = 5_000;

type Place = Pick<Address, "host" | "port">;

describeWithPostgres("the contract in PostgreSQL", (database) =>
  testContract("postgresOutbox", database, {
    server: () => database.cluster,
    poolTo: ({ host, port }) => database.pool({ host, port, max: 20 }),
  }),
);

describeWithMariaDb("the contract in MariaDB", (database) =>
  testContract("mysqlOutbox", database, {
    server: () => database.server.connection,
    poolTo: ({ host, port }) => database.pool({ host, port, connectionLimit: 20 }),
  }),
);

function testContract<Pool>(
  name: string,
  { create, reopen }: Pick<SqlDatabase<Pool>, "create" | "reopen">,
  { server, poolTo }: { server: () => Place; poolTo: (place: Place) => Pool },
): void {
  let link: Link;
  let pool: Pool;
  beforeAll(async () => {
    link = await startLink(server());
    pool = poolTo(link);
  });

  testOutbox(name, {
    create: () => create({ pool, leaseMs: LEASE_MS }),
    createSmall: () => create({ maxEvents: 100, maxDeadLetters: 10, maxDeadLetterBytes: 50_000 }),
    maxDeadLetters: 10,
    maxDeadLetterBytes: 50_000,
    reopen: () => reopen(),
    cutOff: () => link.cut(),
    restore: () => link.restore(),
    leaseMs: LEASE_MS,
  });
}
