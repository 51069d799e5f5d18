import type { NextFunction, Request, RequestHandler, Response } from "express";
import { describe, expect, it } from "vitest";
import { eachExpress, serve } from "../helpers/express.js";
import { cookieNamesOf, cookiesOf, visitorOf } from "../helpers/landing.js";
import { trackerWithService } from "../helpers/tracker.js";

type Answer = (res: Response, req: Request) => unknown;

const PAGE = ["a=1", "b=2; HttpOnly"];

/** What test/request/response-head.property.test.ts does not call: each sets the page's own cookies. */
const answers: Record<string, Answer> = {
  setHeaders: (res) => res.setHeaders(new Map([["Set-Cookie", PAGE]])).end(),
  "a middleware of Next's": (res) => {
    const { setHeader } = res;
    res.setHeader = ((name: string, value: string | string[]) =>
      setHeader.call(
        res,
        name,
        name.toLowerCase() === "set-cookie" ? [...new Set([value].flat())] : value,
      )) as never;
    res.setHeader("Set-Cookie", PAGE);
    res.end();
  },
};

describe.each(eachExpress)("cookies on $name", ({ express }) => {
  async function site(answer: Answer, above: RequestHandler[] = []) {
    const { tracker, posted } = await trackerWithService();
    const app = express();
    app.use(...above, tracker, tracker.keepClickId(), tracker.onClick());
    app.use((req, res) => void answer(res, req));
    const { server } = await serve(app);
    const clicks = async () => {
      await tracker.flush();
      return posted.length;
    };
    return { visit: visitorOf(server), clicks };
  }

  it.each(Object.keys(answers))("leave beside the page's own, each once: %s", async (how) => {
    const { visit } = await site(answers[how] as Answer);
    expect(cookieNamesOf(await visit("/?ref=ALICE"))).toEqual(["a", "b", "svc_click_id", "svc_session_id"]);
    const kept = await visit("/", { Cookie: "svc_click_id=c1" });
    expect(cookieNamesOf(kept)).toEqual(["a", "b", "svc_click_id", "svc_click_id_kept"]);
  });

  it("of `onClick` replace those of `keepClickId`, and follow a page's own of the same name", async () => {
    const { visit } = await site((res) => res.cookie("svc_click_id", "own").end());
    const response = await visit("/?ref=ALICE", { Cookie: "svc_click_id=c1" });
    const [page, click = ""] = cookiesOf(response);
    expect(page).toBe("svc_click_id=own; Path=/");
    expect(click).toMatch(/^svc_click_id=[0-9a-z]+-/);
    expect(cookieNamesOf(response)).toEqual(["svc_click_id", "svc_click_id", "svc_session_id"]);
    expect(cookiesOf(await visit("/", { Cookie: "svc_click_id=c1" }))).toEqual([page]);
  });

  it.each([200, 404, 500])(
    "leave once if Node refuses a head and another one follows, and stay here, without a click, if that is an error: %i",
    async (status) => {
      const { visit, clicks } = await site((res) => {
        expect(() => res.writeHead(200, { "Set-Cookie": "a=1", "x-bad": "\n" })).toThrow();
        res.status(status).end();
      });
      const response = await visit("/?ref=ALICE");
      const ours = status === 200 ? ["svc_click_id", "svc_session_id"] : [];
      expect(cookieNamesOf(response)).toEqual(["a", ...ours]);
      expect(response.get("Cache-Control")).toBe("private");
      expect(await clicks()).toBe(status === 200 ? 1 : 0);
    },
  );

  describe("and a cache of the process, which plays responses back", () => {
    /** Keeps the headers that it finds as the head is written, as apicache does. */
    function cache(): RequestHandler {
      const kept = new Map<string, { headers: object; body: string }>();
      return function playBack(req: Request, res: Response, next: NextFunction) {
        const hit = kept.get(req.url);
        if (hit) {
          res.writeHead(200, hit.headers as never).end(hit.body);
          return;
        }
        const { writeHead, end } = res;
        let headers = {};
        res.writeHead = function keepHead(this: Response, ...args: unknown[]) {
          headers = { ...res.getHeaders() };
          return Reflect.apply(writeHead, this, args);
        } as never;
        res.end = function keepBody(this: Response, ...args: unknown[]) {
          Reflect.apply(end, this, args);
          kept.set(req.url, { headers, body: String(args[0] ?? "") });
          return this;
        } as never;
        next();
      };
    }
    const idsIn = (response: Awaited<ReturnType<ReturnType<typeof visitorOf>>>) =>
      cookiesOf(response).filter((cookie) => cookie.startsWith("svc_"));

    it("gives each visitor ids of their own if it stands below", async () => {
      const playBack = cache();
      const { visit, clicks } = await site((res, req) =>
        playBack(req, res, () => res.cookie("a", "1").send("hello")),
      );
      const seen = new Set<string | undefined>();
      for (const _ of [1, 2, 3]) {
        const response = await visit("/?ref=ALICE");
        expect(response.text).toBe("hello");
        for (const cookie of idsIn(response)) seen.add(cookie.split(";")[0]);
      }
      expect([seen.size, await clicks()]).toEqual([6, 3]);
    });

    it("keeps no visitor's ids if it stands above", async () => {
      const { visit } = await site((res) => res.cookie("a", "1").send("hello"), [cache()]);
      expect(idsIn(await visit("/?ref=ALICE"))).toHaveLength(2);
      const again = await visit("/?ref=ALICE");
      expect([again.text, idsIn(again)]).toEqual(["hello", []]);
    });
  });
});
