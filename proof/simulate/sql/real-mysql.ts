import { mysqlMigrations } from "express-affiliate/mysql";
import mysql from "mysql2/promise";
import { NOW } from "../../../src/outbox/mysql/sql.js";
import { startMariaDb } from "../../../test/helpers/mariadb.js";
import { createMonitor, PREFIX, type RealServer, readOnly, type Session } from "./real-server.js";

// Lock waits end in virtual time: see server.ts.
const FOR_EVER_S = 100_000;
/** The tables that processes write to. */
const TABLES = ["events", "queues"];
const WAITING = `select id from information_schema.processlist
  where state like 'Waiting for%lock%' or state = 'User lock'`;

/** A MariaDB server whose plans do not change with what runs beside it. */
export async function startRealMysql(): Promise<RealServer> {
  const server = await startMariaDb({
    "innodb-flush-log-at-trx-commit": 2,
    "innodb-stats-auto-recalc": 0,
    "innodb-lock-wait-timeout": FOR_EVER_S,
    "max-connections": 300,
    "wait-timeout": 86_400,
  });
  const monitor = createMonitor(open);
  for (const text of mysqlMigrations(PREFIX)) {
    for (const statement of text.split(/;\n/)) if (statement.trim() !== "") await monitor(statement);
  }

  async function open(): Promise<Session> {
    const connection = await mysql.createConnection({ ...server.connection, multipleStatements: false });
    let hasEnded = false;
    const noteEnd = () => {
      hasEnded = true;
    };
    connection.on("error", noteEnd).on("end", noteEnd);
    const session: Session = {
      number: connection.threadId,
      get hasEnded() {
        return hasEnded;
      },
      async run({ text, options }, nowMs) {
        try {
          return await connection.query({ ...options, sql: text.replaceAll(NOW, String(nowMs)) });
        } catch (error) {
          if ((error as { fatal?: boolean }).fatal) hasEnded = true;
          throw error;
        }
      },
      setReadOnly: readOnly((wanted) =>
        connection.query(`set session transaction read ${wanted ? "only" : "write"}`),
      ),
      async reset() {
        await connection.query("rollback");
        await connection.query("do release_all_locks()");
        await session.setReadOnly(false);
      },
      end() {
        hasEnded = true;
        connection.destroy();
      },
    };
    return session;
  }

  return {
    kind: "mysql",
    session: open,
    async waiting() {
      const [others] = (await monitor(WAITING)) as [{ id: number }[]];
      // What InnoDB's tables say may be 100 ms old, and its counter counts who has been given a lock but no processor.
      const [[{ Status: status }]] = (await monitor("show engine innodb status")) as [[{ Status: string }]];
      const waiting = status
        .split("\n---TRANSACTION ")
        .filter((each) => each.includes("TRX HAS BEEN WAITING"));
      return [
        ...others.map(({ id }) => id),
        ...waiting.map((each) => Number(/thread id (\d+)/.exec(each)?.[1])),
      ];
    },
    async cancel({ number }) {
      await monitor(`kill query ${number}`);
    },
    async clear() {
      for (const table of TABLES) await monitor(`truncate table ${PREFIX}${table}`);
    },
    destroy: () => server.destroy(),
  };
}
