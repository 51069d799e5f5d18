import type { Server } from "node:http";
import type { Express } from "express";
import type { Affiliate } from "express-affiliate";

/** What every page may take for given. */
export interface Names {
  readonly app: Express;
  readonly tracker: Affiliate;
  readonly server: Server;
}
