import { Writable } from "node:stream";
import { affiliate } from "express-affiliate";
import winston from "winston";

/** What was logged, as winston writes it. */
export const lines = [];
const stream = new Writable({
  write(line, _encoding, done) {
    lines.push(`${line}`);
    done();
  },
});

export const tracker = affiliate({
  baseUrl: process.env.TRACKING_URL,
  clientId: Number(process.env.TRACKING_CLIENT_ID),
  apiKey: process.env.TRACKING_API_KEY,
  consent: (_req, cookies) => cookies.consent !== "no", // as your banner keeps the answer
  logger: winston.createLogger({
    levels: winston.config.syslog.levels,
    format: winston.format.simple(),
    transports: [new winston.transports.Stream({ stream })],
  }),
});
