import { once } from "node:events";
import { createServer } from "node:http";
import apicache from "apicache";
import proxy from "express-http-proxy";
import { createProxyMiddleware } from "http-proxy-middleware";
import { createShop } from "./shop.js";
import { tracker } from "./tracker.js";

/** The paths that a shop elsewhere was asked for. */
export const asked = [];
const pages = createServer(({ url }, res) => {
  asked.push(url);
  const headers = { "content-type": "text/html", "cache-control": "public, max-age=60" };
  res.writeHead(200, { ...headers, "set-cookie": ["basket=empty; Path=/", "theme=dark"] }).end("Welcome");
}).listen(0);
await once(pages, "listening");
const elsewhere = `http://localhost:${pages.address().port}`;
const proxyReqPathResolver = ({ originalUrl }) => originalUrl;

const app = createShop();
app.get("/one", tracker.onClick(), createProxyMiddleware({ target: elsewhere }));
app.get("/another", tracker.onClick(), proxy(elsewhere, { proxyReqPathResolver }));
app.get("/cached", tracker.onClick(), apicache.middleware("1 minute"), proxy(elsewhere));

export const server = app.listen(process.env.PORT ?? 3000);

export function close() {
  server.close();
  pages.close();
  pages.closeAllConnections();
  apicache.clear();
}
