import { start } from "../child.js";
import type { DashboardReport } from "../dashboard.js";
import { type Bench, millis, type Row, round } from "../report.js";

/** What the dashboard's sums, and actions on all of a kind, take of the event loop. */
export async function benchDashboard({ report, quick }: Bench): Promise<void> {
  const letters = quick ? 200 : 10_000;
  const rows: Row[] = [];
  for (const outbox of ["memory", "disk"] as const) {
    report.progress(`the dashboard, ${outbox}, ${round(letters)} dead letters`);
    const host = await start<DashboardReport>("dashboard", { outbox, letters });
    const ask = await open(host.ready.url);
    const count = letters / 2;
    const requests: [what: string, path: string, body?: object][] = [
      ["sum of all", "sum"],
      [`retry all ${round(count)} payments`, "retry", { kind: "payment", count }],
      [`discard all ${round(count)} registrations`, "discard", { kind: "registration", count }],
    ];
    for (const [request, path, body] of requests) {
      await host.report();
      await ask(path, body);
      const { mainThreadMs, longestMs } = await host.report();
      rows.push({
        outbox,
        request,
        "ms of main thread": millis(mainThreadMs),
        "at a time": millis(longestMs),
      });
    }
    await host.end();
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
  return async (path: string, body?: object) => {
    const post = body && { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${url}/${path}`, { headers, ...post });
    const said = await answer.text();
    if (!answer.ok) throw new Error(`the dashboard answers ${answer.status}: ${said}`);
  };
}
