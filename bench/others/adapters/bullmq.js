import { post } from "./fetch.js";

export const bullmq = {
  name: "bullmq",
  title: "BullMQ",
  setUp:
    "`await queue.add()` with 3 attempts and exponential backoff from 1 s; in the shop, a worker of the default concurrency 1, which posts with `fetch` and a limit of 10 s; Redis with an append-only file. At the end `worker.close()`",
  needs: "redis",
  packages: ["bullmq", "ioredis"],
  loads: ["bullmq"],
  follows: [
    "https://docs.bullmq.io/guide/retrying-failing-jobs",
    "https://docs.bullmq.io/guide/workers/graceful-shutdown",
    "https://docs.bullmq.io/guide/going-to-production",
  ],
  async start({ service, redis, run }, { idOf = () => undefined, attempts = 3, concurrency = 1 } = {}) {
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
        await queue.add("payment", payment, {
          attempts,
          backoff: { type: "exponential", delay: 1_000 },
          jobId: idOf(payment.paymentId),
        });
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

const idOf = (paymentId) => paymentId;

export const bullmqId = {
  ...bullmq,
  name: "bullmq-id",
  title: "BullMQ, `jobId`",
  setUp: "the same, with the payment's id as `jobId`",
  follows: ["https://docs.bullmq.io/guide/jobs/job-ids"],
  start: (place) => bullmq.start(place, { idOf }),
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
  costsAs: "bullmq-id",
  start: (place) => bullmq.start(place, { idOf, attempts: 20, concurrency: 8 }),
};
