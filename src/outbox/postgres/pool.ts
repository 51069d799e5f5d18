/** The part of a pool that the outbox needs: `Pool` of the package `pg` has it. */
export interface PostgresPool {
  /** Lends one of its connections. */
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
  // biome-ignore-start lint/suspicious/noExplicitAny: pg's types need its package, which is optional.
  /** For errors of idle connections: without a listener they would end the process. */
  on(event: "error", listener: (error: Error, ...more: any[]) => void): unknown;
  /** Undoes `on`. */
  removeListener(event: "error", listener: (...more: any[]) => void): unknown;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
}

/** The part of a lent connection that the outbox needs: `PoolClient` of the package `pg` has it. */
export interface PostgresClient {
  // biome-ignore-start lint/suspicious/noExplicitAny: pg's types need its package, which is optional.
  /** Runs one statement, or several without values. */
  query(config: {
    text: string;
    values?: any[];
    query_timeout?: number;
    types?: any;
  }): Promise<{ rows: any[]; rowCount?: number | null }>;
  /** Its errors are listened to. */
  on(event: string, listener: (...more: any[]) => void): unknown;
  /** Undoes `on`. */
  removeListener(event: string, listener: (...more: any[]) => void): unknown;
  /** Returns it to the pool, or closes it. */
  release(destroy?: boolean): void;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
}

// admin_shutdown, crash_shutdown, idle_session_timeout, idle_in_transaction_session_timeout; the
// class connection_exception.
const CONNECTION_ENDED = /^(57P01|57P02|57P05|25P03|08\w{3}|ECONNRESET|EPIPE)$/;
// What `pg` says of a connection that ended before the answer, or before the request.
const CONNECTION_GONE = /Connection terminated( unexpectedly)?$|not queryable$/;

/** Whether the connection was lost, so that it is unknown how far the request got. */
export function hasEnded(error: unknown): boolean {
  const { code = "", message = "" } = Object(error) as { code?: string; message?: string };
  return CONNECTION_ENDED.test(code) || CONNECTION_GONE.test(message);
}

/**
 * Lends one of the pool's connections, with a listener for its errors. A server that stops may send
 * "ready" and an error in one packet: the client then emits the error before a promise resolves, and
 * without a listener it ends the process.
 */
export function lend(pool: PostgresPool): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (!client) return reject(error);
      client.on("error", ignore);
      resolve(client);
    });
  });
}

export function ignore(): void {}
