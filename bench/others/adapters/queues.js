import { post } from "./fetch.js";

export const bullmq = {
  name: "bullmq",
  title: "BullMQ",
  setUp:
    "`await queue.add()` with the payment's id as `jobId`, 3 attempts and exponential backoff from 1 s; in the shop, a worker of the default concurrency 1, which posts with `fetch` and a limit of 10 s; Redis with an append-only file. At the end `worker.close()`",
  needs: "redis",
  packages: ["bullmq", "ioredis"],
  loads: ["bullmq"],
  follows: [
    "https://docs.bullmq.io/guide/retrying-failing-jobs",
    "https://docs.bullmq.io/guide/jobs/job-ids",
    "https://docs.bullmq.io/guide/workers/graceful-shutdown",
    "https://docs.bullmq.io/guide/going-to-production",
  ],
  async start({ service, redis, run }, { attempts = 3, concurrency = 1 } = {}) {
    const { Queue, Worker } = await import("bullmq");
    const connection = { host: "127.0.0.1", port: redis };
    const queue = new Queue(run, { connection });
    const worker = new Worker(run, ({ data }) => post(service, data), {
      connection: { ...connection, maxRetriesPerRequest: null },
      concurrency,
    });
    for (const each of [queue, worker]) each.on("error", () => {});
    return {
      async track(payment) {
        const backoff = { type: "exponential", delay: 1_000 };
        await queue.add("payment", payment, { attempts, backoff, jobId: payment.paymentId });
      },
      async held() {
        return (await queue.getFailed()).map(({ data }) => data.email);
      },
      async close() {
        await worker.close();
        await queue.close();
      },
    };
  },
};

export const bullmqTuned = {
  ...bullmq,
  name: "bullmq-tuned",
  title: "BullMQ, tuned",
  setUp:
    "the same, with 20 attempts, whose waits double without a limit, and a worker of concurrency 8, which is our default",
  follows: [
    "https://docs.bullmq.io/guide/retrying-failing-jobs",
    "https://docs.bullmq.io/guide/workers/concurrency",
  ],
  costsAs: "bullmq",
  start: (place) => bullmq.start(place, { attempts: 20, concurrency: 8 }),
};

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
