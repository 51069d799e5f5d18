import express4 from "express4";
import request from "supertest";
import { expect, it } from "vitest";
import { pageToRun } from "../helpers/docs/run.js";
import { trackerWithService } from "../helpers/tracker.js";

const page = pageToRun("docs/frameworks.md");

it("an async handler that is forwarded reports on Express 4, and hands its rejections to `next`", async () => {
  const { tracker, posted } = await trackerWithService();
  const app = express4().use(express4.json(), tracker);
  const orders = {
    async complete({ id }: { id: string }) {
      if (id === "declined") throw new Error("declined");
      return { id, email: "ada@shop.example", total: 19.9 };
    },
  };
  await page.run("Frameworks", { app, orders });
  const order = (id: string) => request(app).post("/orders").set("Cookie", "svc_session_id=s1").send({ id });
  await order("o1").expect(201);
  const { status, text } = await order("declined");
  expect({ status, text }).toEqual({ status: 500, text: expect.stringContaining("declined") });
  await tracker.flush();
  expect(posted).toMatchObject([{ body: { leadValue: 19.9, sessionId: "s1" } }]);
});
