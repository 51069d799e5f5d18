import { post } from "./fetch.js";

export const graphileWorker = {
  name: "graphile-worker",
  title: "graphile-worker",
  setUp:
    "`await addJob()` with the payment's id as `jobKey`; by default 25 attempts with exponential backoff, and a worker of concurrency 1 that looks every 2 s, and at once when a job is added, and posts with `fetch` and a limit of 10 s. At the end `runner.stop()`",
  needs: "postgres",
  packages: ["graphile-worker", "pg"],
  loads: ["graphile-worker"],
  follows: [
    "https://worker.graphile.org/docs/library/run",
    "https://worker.graphile.org/docs/job-key",
    "https://worker.graphile.org/docs/exponential-backoff",
  ],
  async start({ service, postgres }) {
    const { Logger, run } = await import("graphile-worker");
    const { default: pg } = await import("pg");
    const pgPool = new pg.Pool({ connectionString: postgres });
    pgPool.on("error", () => {});
    const runner = await run({
      pgPool,
      noHandleSignals: true,
      logger: new Logger(() => () => {}),
      taskList: { payment: (payload) => post(service, payload) },
    });
    return {
      track: (payment) => runner.addJob("payment", payment, { jobKey: payment.paymentId }),
      async held() {
        const { rows } = await pgPool.query(
          "select payload from graphile_worker._private_jobs where attempts >= max_attempts",
        );
        return rows.map(({ payload }) => payload.email);
      },
      async close() {
        await runner.stop();
        await pgPool.end();
      },
    };
  },
};
