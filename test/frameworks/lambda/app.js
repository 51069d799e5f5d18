import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import serverlessExpress from "./adapter.js";
import { createShop } from "./shop.js";
import { pending, tracker } from "./tracker.js";

const app = createShop();
app.get("/basket", tracker.onClick(), (_req, res) => res.cookie("basket", "empty").send("Welcome"));
app.post(
  "/picked",
  tracker.onPayment(
    (_req, res) => res.sendStatus(204),
    ({ body }) => ({ paymentId: body.id, customerEmail: body.email, leadValue: 19.9 }),
  ),
);
const serve = serverlessExpress({ app });

/** A function as docs/serverless.md has it: it returns once all that it has reported is delivered. */
async function handler(event) {
  const response = await serve(event, {});
  await Promise.all(pending.splice(0));
  return response;
}

/** How many events each invocation has left. */
export const left = [];

/** API Gateway: a request is an event for the function, and what that returns is the response. */
export const server = createServer(async (req, res) => {
  const { pathname: path, searchParams } = new URL(req.url, "http://shop.example");
  const { cookie, ...headers } = req.headers;
  const { statusCode, cookies, ...response } = await handler({
    ...{ version: "2.0", routeKey: "$default", rawPath: path, rawQueryString: `${searchParams}` },
    ...{ cookies: cookie?.split("; ") ?? [], headers, body: await text(req), isBase64Encoded: false },
    requestContext: {
      http: { method: req.method, path, protocol: "HTTP/1.1", sourceIp: "127.0.0.1" },
      ...{ stage: "$default", requestId: "1" },
    },
  });
  left.push(tracker.stats().queued);
  res.writeHead(statusCode, { ...response.headers, "set-cookie": cookies ?? [] }).end(response.body);
}).listen(process.env.PORT ?? 3000);
