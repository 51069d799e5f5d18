import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "./shared/app.js";
import { makeExpressApp } from "./shared/express-generator.js";
import { inFile } from "./shared/patch.js";
import { stepsAt, walkShop } from "./shared/walk.js";

const SHUT_DOWN = `process.once('SIGINT', () => {
  server.close(() => require('../tracker').tracker.close({ timeoutMs: 5_000 }).then(() => process.exit()));
  setTimeout(() => server.closeAllConnections(), 10_000).unref();
});`;

export default {
  title: "PM2 in cluster mode: the app of Express' generator, two workers on one disk outbox",
  environment: () => ({ PM2_HOME: join(tmpdir(), `express-affiliate-pm2-${randomUUID()}`) }),
  make: (project) => makeExpressApp(project, { pm2: "7.0.4" }),
  patch: [
    { copy: "tracker.cjs", to: "tracker.js" },
    { copy: "pm2/ecosystem.config.js", to: "ecosystem.config.js" },
    { copy: "pm2/shop.js", to: "routes/shop.js" },
    ...inFile(
      "app.js",
      { below: "require('morgan');", add: "var { tracker } = require('./tracker');" },
      { above: "express.static", add: "app.use(tracker, tracker.onClick());" },
      { above: "app.use('/', indexRouter);", add: "app.use('/', require('./routes/shop'));" },
    ),
    { file: "bin/www", below: "server.on('listening', onListening);", add: SHUT_DOWN },
  ],
  start: ["npx", "pm2-runtime", "start", "ecosystem.config.js"],
  walk: (walk) => walkShop(walk, stepsAt("")),
} satisfies App;
