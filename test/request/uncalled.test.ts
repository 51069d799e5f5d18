import { affiliate } from "express-affiliate";
import request from "supertest";
import { describe, expect, it, vi } from "vitest";
import { startShop } from "../helpers/conversions.js";
import { eachExpress } from "../helpers/express.js";

describe.each(eachExpress)("a mistake at mounting, on $name,", ({ express }) => {
  it.each(["onClick", "keepClickId", "onRegistration", "onPayment"] as const)(
    "lets visitors pass, and is told once: `tracker.%s` without a call",
    async (name) => {
      const { post, lines } = await startShop(express, (app, tracker) => {
        app.post("/", tracker[name] as never, (_req, res) => void res.send("Welcome"));
      });
      for (let visit = 0; visit < 2; visit++)
        expect(await post()).toMatchObject({ status: 200, text: "Welcome" });
      const written = `tracker.${name}(${name.startsWith("onC") || name === "keepClickId" ? "" : "handler"})`;
      expect(lines).toEqual([
        `express-affiliate: \`tracker.${name}\` was passed to Express without a call, so nothing is reported there: write \`${written}\``,
      ]);
    },
  );

  it.each([
    ["consent", "`consent` returned a promise, which counts as no. Return true or false"],
    ["session", "`session` returned a promise, so the request has no session id. Return the id"],
  ])("is told once: `%s` returns a promise", async (option, line) => {
    const seen: unknown[] = [];
    for (const settled of [() => Promise.resolve("s9"), () => Promise.reject(new Error("no database"))]) {
      const { post, lines } = await startShop(
        express,
        (app) => {
          app.post("/", (req, res) => {
            seen.push(req.affiliate?.sessionId);
            res.end();
          });
        },
        { [option]: settled },
      );
      for (let visit = 0; visit < 2; visit++) await post();
      expect(lines.filter((each) => each.includes("returned a promise"))).toEqual([
        expect.stringContaining(line),
      ]);
    }
    expect(seen).toEqual([undefined, undefined, undefined, undefined]);
  });
});

it("`affiliate` without a call lets visitors pass, and is logged once in a process", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  for (const { express } of eachExpress) {
    const app = express();
    app.use(affiliate as never);
    app.get("/", (_req, res) => void res.send("Welcome"));
    for (let visit = 0; visit < 2; visit++) await request(app).get("/").expect(200, "Welcome");
  }
  expect(warn.mock.calls).toEqual([
    [
      expect.stringContaining(
        "`affiliate` was passed to Express without a call, so nothing is reported there: write",
      ),
    ],
  ]);
  warn.mockRestore();
});
