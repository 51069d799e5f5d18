import { post } from "./fetch.js";
import { uuidOf } from "./uuid.js";

const QUEUE = "payments";

export const pgBoss = {
  name: "pg-boss",
  title: "pg-boss",
  setUp:
    "`await boss.send()` with a job's `id` made of the payment's; by default 2 retries. A worker takes up to 100 jobs every 0.5 s (by default 1 every 2 s), posts them with `fetch` and a limit of 10 s, and calls `fail()` for each that failed. At the end `boss.stop()`",
  needs: "postgres",
  packages: ["pg-boss"],
  follows: [
    "https://timgit.github.io/pg-boss/#/./api/jobs",
    "https://timgit.github.io/pg-boss/#/./api/workers",
  ],
  async start({ service, postgres }) {
    const { default: PgBoss } = await import("pg-boss");
    const boss = new PgBoss(postgres);
    boss.on("error", () => {});
    await boss.start();
    await boss.createQueue(QUEUE);
    await boss.work(QUEUE, { batchSize: 100, pollingIntervalSeconds: 0.5 }, async (jobs) => {
      const results = await Promise.allSettled(jobs.map(({ data }) => post(service, data)));
      const failed = jobs.filter((_, nth) => results[nth].status === "rejected");
      await Promise.all(failed.map(({ id }) => boss.fail(QUEUE, id)));
    });
    return {
      track: (payment) => boss.send(QUEUE, payment, { id: uuidOf(payment.paymentId) }),
      async held() {
        const { rows } = await boss.getDb().executeSql("select data from pgboss.job where state = 'failed'");
        return rows.map(({ data }) => data.email);
      },
      close: () => boss.stop(),
    };
  },
};
