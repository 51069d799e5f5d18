import type { Request, Response } from "express";
import type { Journal } from "../journal/journal.js";
import { landingOf } from "./landing-page.js";
import { isOpenedByPerson } from "./page-view.js";

const LONGEST_PATH = 100;

// Shared by all trackers: a page that any `onClick` has seen is no mistake.
const handled = new WeakSet<Request>();

export type ReferenceWatch = ReturnType<typeof createReferenceWatch>;

/**
 * Logs the first page that is opened with an affiliate's reference and that no `onClick` sees, such
 * as a static file served before it. Does nothing without `onClick`, as on sites with the browser
 * snippet alone.
 */
export function createReferenceWatch(journal: Journal) {
  const params = new Set<string>();

  function warn(req: Request, param: string): void {
    const [path = ""] = req.originalUrl.split("?", 1);
    journal.once(
      "warn",
      "unhandled reference",
      `a page was opened with an affiliate's reference (\`?${param}=\`) and no \`onClick\` saw it, so it is no click: "${path.slice(0, LONGEST_PATH)}". ` +
        "Mount `app.use(tracker, tracker.onClick())` before routes and static files. If the browser snippet counts this page, all is well",
    );
  }

  return {
    /** Watches a parameter that an `onClick` reads. */
    expect(param: string): void {
      params.add(param);
    },
    /** An `onClick` has seen the reference in this request. */
    handled(req: Request): void {
      handled.add(req);
    },
    /** Looks at the address now and, if it has a reference, at the finished response. */
    watch(req: Request, res: Response): void {
      // A request of Node alone has no `originalUrl`.
      if (params.size === 0 || !req.originalUrl?.includes("?")) return;
      for (const param of params) {
        const inAddress = `${param}=`;
        if (!req.originalUrl.includes(inAddress)) continue;
        if (!isOpenedByPerson(req) || !landingOf(req, param)) continue;
        res.once("finish", () => {
          // A redirect that keeps the reference leads to the page where it counts.
          const isKept = String(res.getHeader("Location") ?? "").includes(inAddress);
          if (!handled.has(req) && res.statusCode < 400 && !isKept) warn(req, param);
        });
      }
    },
  };
}
