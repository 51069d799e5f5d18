import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";

export const tracker = affiliate({
  baseUrl: process.env.TRACKING_URL ?? "",
  clientId: Number(process.env.TRACKING_CLIENT_ID),
  apiKey: process.env.TRACKING_API_KEY ?? "",
  outbox: diskOutbox({ directory: process.env.OUTBOX_DIRECTORY ?? "outbox" }),
});
