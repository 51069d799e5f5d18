import express from "express";
import session from "express-session";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { textOf } from "../helpers/docs/pages.js";
import { pageToRun, startShop } from "../helpers/docs/run.js";

const page = pageToRun("docs/dashboard.md");
const PATH = "/admin/affiliate/";

describe("who may see it", () => {
  it("is who the session says is an operator", async () => {
    const { app, tracker } = await startShop({
      before: [session({ secret: "s", resave: false, saveUninitialized: false })],
    });
    app.post("/login/:id", (req, res) => {
      req.session.userId = Number(req.params.id);
      res.end();
    });
    const users = { get: async (id: number) => ({ 1: { role: "operator" }, 2: { role: "customer" } })[id] };
    await page.run("Mount it", { app, tracker, users });

    await request(app).get(PATH).expect(403, "Forbidden");
    const customer = request.agent(app);
    await customer.post("/login/2");
    await customer.get(PATH).expect(403, "Forbidden");
    const operator = request.agent(app);
    await operator.post("/login/1");
    await operator.get(PATH).expect(200);
  });

  it("is one for those who look, and another for those who act", async () => {
    const { app, tracker } = await startShop({
      before: [
        (req, _res, next) => next(void Object.assign(req, { session: { userId: req.get("x-user") } })),
      ],
    });
    const users = {
      get: async (name: string) =>
        ({ sue: { role: "support", name: "Sue" }, fay: { role: "finance", name: "Fay" } })[name],
    };
    await page.run("Some look, others act", { app, tracker, users });
    const as = (user: string) => ({ "x-user": user, "Sec-Fetch-Site": "same-origin" });
    for (const user of ["sue", "fay"]) await request(app).get(PATH).set(as(user)).expect(200);
    await request(app).get(PATH).set(as("eve")).expect(403);
    await request(app).post(`${PATH}retry`).set(as("sue")).expect(403, "Forbidden");
    const { body } = await request(app).post(`${PATH}retry?id=x`).set(as("fay")).expect(404);
    expect(body.message).toContain("It is no longer a dead letter");
  });

  it("is who has the password", async () => {
    const { tracker } = await startShop();
    const app = express();
    await page.run("A password", { app, tracker, process: { env: { DASHBOARD_PASSWORD: "correct horse" } } });

    await request(app).get(PATH).expect(401).expect("www-authenticate", "Basic");
    await request(app).get(PATH).auth("operator", "wrong").expect(401);
    await request(app).get(PATH).auth("operator", "correct horse").expect(200);
  });
});

it("docs/dashboard.md has a row for each part of the page", async () => {
  const text = textOf("docs/dashboard.md");
  const html = ["letters", "numbers"].map((part) => textOf(`src/dashboard/browser/${part}.js`)).join("");
  const titles = [...html.matchAll(/<h2 [^>]+>([^<]+?) *</g)].map(([, title]) => title);
  expect(titles).toHaveLength(6);
  for (const title of titles) expect(text).toContain(`| ${title} |`);
});
