import { start } from "../child.js";
import type { DashboardReport } from "../dashboard.js";
import { type Bench, millis, type Row, round } from "../report.js";

const LONGEST_MS = 50;

/** What the dashboard's sums, and actions on all of a kind, take of the event loop. */
export async function benchDashboard({ report, quick }: Bench): Promise<void> {
  const letters = quick ? 200 : 10_000;
  const rows: Row[] = [];
  for (const outbox of ["memory", "disk"] as const) {
    report.progress(`the dashboard, ${outbox}, ${round(letters)} dead letters`);
    const host = await start<DashboardReport>("dashboard", { outbox, letters });
    const page = await open(host.ready.url);
    const measured: DashboardReport[] = [];
    const count = letters / 2;
    const requests: [what: string, send: () => Promise<unknown>][] = [
      ["sum of all", () => page.get("sum")],
      [`retry all ${round(count)} payments`, () => page.post("retry", { kind: "payment", count })],
      [
        `discard all ${round(count)} registrations`,
        () => page.post("discard", { kind: "registration", count }),
      ],
    ];
    for (const [what, send] of requests) {
      await host.report();
      await send();
      const found = await host.report();
      measured.push(found);
      rows.push({
        outbox,
        request: what,
        "ms of main thread": millis(found.mainThreadMs),
        "at a time": millis(found.longestMs),
      });
    }
    await host.end();
    const longestMs = Math.max(...measured.map((each) => each.longestMs));
    report.aims.atMost(
      LONGEST_MS,
      longestMs,
      `${outbox}: ms of main thread that the dashboard takes at a time`,
    );
  }
  report.section(
    "The dashboard",
    `With ${round(letters)} dead letters of 100 KB: processor time of the main thread until the answer is there, and the most of it ` +
      "before other code has its turn.",
    rows,
  );
}

/** The dashboard, as its own page asks. */
async function open(url: string) {
  const state = await fetch(`${url}/state`);
  const { token } = (await state.json()) as { token: string };
  const headers = {
    cookie: state.headers.get("set-cookie")?.split(";")[0] ?? "",
    "content-type": "application/json",
    "sec-fetch-site": "same-origin",
    "x-affiliate-token": token,
  };
  async function ask(path: string, sent: RequestInit = {}): Promise<unknown> {
    const answer = await fetch(`${url}/${path}`, { headers, ...sent });
    const said = await answer.json();
    if (answer.ok) return said;
    throw new Error(`the dashboard answers ${answer.status}: ${JSON.stringify(said)}`);
  }
  return {
    get: (path: string) => ask(path),
    post: (path: string, body: object) => ask(path, { method: "POST", body: JSON.stringify(body) }),
  };
}
