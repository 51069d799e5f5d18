import type { RequestHandler } from "express";
import express5 from "express";
import type { Affiliate } from "express-affiliate";
import { type DashboardOptions, dashboard } from "express-affiliate/dashboard";
import request from "supertest";

/** Where the tests mount it. */
export const PATH = "/admin/affiliate";

/** An app that serves the dashboard, to everyone unless told otherwise. */
export function appWith(
  tracker: Affiliate,
  {
    authorize = () => true,
    express = express5,
    before = [],
  }: Partial<DashboardOptions> & { express?: typeof express5; before?: RequestHandler[] } = {},
) {
  const app = express();
  for (const middleware of before) app.use(middleware);
  app.use(PATH, dashboard(tracker, { authorize }));
  return app;
}

/** The dashboard's own page, as its browser asks: with its cookie, its token, and what browsers say of a page's origin. */
export async function openDashboard(app: Parameters<typeof request>[0]) {
  const agent = request.agent(app);
  const { body } = await agent.get(`${PATH}/state`).expect(200);
  const { token } = body as { token: string };
  return {
    token,
    agent,
    get: (path: string) => agent.get(`${PATH}/${path}`).set("Sec-Fetch-Site", "same-origin"),
    post: (path: string, sent: object) =>
      agent
        .post(`${PATH}/${path}`)
        .set({ "Sec-Fetch-Site": "same-origin", "X-Affiliate-Token": token })
        .send(sent),
  };
}
