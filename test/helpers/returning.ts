import type { Request, Response } from "express";

/** A handler that answers, and returns what happened. */
export function returning<Happened>(happened: Happened, status = 200) {
  return (_req: Request, res: Response): Happened => {
    res.status(status).end();
    return happened;
  };
}
