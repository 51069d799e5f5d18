import type { Express, Request, RequestHandler } from "express";
import type { Affiliate, AffiliateOptions, Attributed, Attribution, affiliate } from "express-affiliate";
import type { Outbox } from "express-affiliate/outbox";

interface Row {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly total: number;
  readonly affiliate: Attribution;
}

/** What the examples of docstrings take for given. */
export interface Names {
  readonly app: Express;
  readonly tracker: Affiliate;
  readonly affiliate: typeof affiliate;
  readonly options: AffiliateOptions;
  readonly users: {
    create(fields: object): Promise<Row>;
    update(id: string, row: { affiliate: Attribution }): Promise<void>;
  };
  readonly orders: { complete(id: string): Promise<Row> };
  readonly user: Row;
  readonly invoice: Row;
  readonly req: Attributed<Request>;
  readonly completeCheckout: RequestHandler;
  readonly redisOutbox: (options: { prefix: string }) => Outbox;
}
