const assert = require("node:assert/strict");
const { once } = require("node:events");
const { createServer } = require("node:http");

/** One registration through the installed package to a service that writes down what it gets. */
exports.walk = async function walk({ express, affiliate, dashboard, memoryOutbox, TrackingApiError }) {
  const received = [];
  const service = createServer((req, res) => {
    received.push(`${req.method} ${req.url}`);
    if (req.method === "GET") res.statusCode = 401;
    res.setHeader("content-type", "application/json");
    res.end(JSON.stringify({ success: true, error: "Unauthorized", message: "no key", status: 401 }));
  }).listen(0, "127.0.0.1");
  await once(service, "listening");

  const tracker = affiliate({
    baseUrl: `http://127.0.0.1:${service.address().port}`,
    clientId: 1,
    outbox: memoryOutbox(),
  });
  const app = express();
  app.use(tracker);
  app.use("/admin", dashboard(tracker, { authorize: (req) => req.get("x-operator") === "ada" }));
  app.post(
    "/signup",
    tracker.onRegistration(async (_req, res) => {
      res.status(201).end();
      return { email: "ada@shop.example" };
    }),
  );
  const shop = app.listen(0, "127.0.0.1");
  await once(shop, "listening");
  const { status } = await fetch(`http://127.0.0.1:${shop.address().port}/signup`, {
    method: "POST",
    headers: { cookie: "svc_click_id=c1" },
  });
  assert.equal(status, 201);
  const admin = `http://127.0.0.1:${shop.address().port}/admin`;
  assert.equal((await fetch(admin)).status, 403);
  const page = await fetch(admin, { headers: { "x-operator": "ada" } });
  assert.match(await page.text(), /<title>Affiliate delivery<\/title>/);
  assert.deepEqual(await tracker.flush(), { settled: true, left: 0 });
  await assert.rejects(tracker.client.status("s1"), TrackingApiError);
  assert.deepEqual(received, ["POST /api/v1/tracking/registration", "GET /api/v1/tracking/status/s1"]);
  assert.deepEqual(await tracker.close(), { left: 0, durable: false });
  shop.close();
  service.close();
};
