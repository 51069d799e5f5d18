/** What the outbox needs of a pool, as `mysql2/promise` has it. */
export interface MysqlPool {
  /** Lends one of its connections. */
  getConnection(): Promise<MysqlConnection>;
}

/** What the outbox needs of a lent connection, such as a `PoolConnection` of `mysql2/promise`. */
export interface MysqlConnection {
  // biome-ignore-start lint/suspicious/noExplicitAny: mysql2's types need its package, which is optional.
  /** Runs a statement. Resolves to its rows, or how many were affected, and to their columns. */
  query(options: { sql: string; rowsAsArray?: boolean; typeCast?: any }): Promise<[any, any]>;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
  /** Returns it to the pool. */
  release(): void;
  /** Closes it. */
  destroy(): void;
}
