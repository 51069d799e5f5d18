const assert = require("node:assert/strict");
const { once } = require("node:events");
const { createServer, get } = require("node:http");

const browser = {
  accept: "text/html",
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Firefox/130.0",
};

/** A click, a sign-up, a payment and a failed one, through the installed package to a service that writes down what it gets. */
exports.walk = async function walk({ express, affiliate, dashboard, memoryOutbox, TrackingApiError }) {
  const received = [];
  const service = createServer((req, res) => {
    received.push(`${req.method} ${req.url}`);
    const refused = req.method === "GET";
    res.writeHead(refused ? 401 : 200, { "content-type": "application/json" });
    res.end(
      JSON.stringify(refused ? { error: "Unauthorized", message: "no key", status: 401 } : { success: true }),
    );
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
  app.get("/", tracker.onClick(), (req, res) => res.json(req.affiliate.snapshot()));
  app.post(
    "/orders/:id",
    tracker.onPayment(async (req, res) => {
      if (req.params.id === "declined") throw new Error("card declined");
      if (req.params.id === "nothing") return Promise.reject();
      res.status(201).end();
      return { paymentId: req.params.id, customerEmail: "ada@shop.example", leadValue: 19.9 };
    }),
  );
  app.use((error, _req, res, _next) => res.status(402).json({ error: error.message }));
  const shop = app.listen(0, "127.0.0.1");
  await once(shop, "listening");
  const origin = `http://127.0.0.1:${shop.address().port}`;
  // Not by fetch, which says of itself that it opens no page.
  const [landed] = await once(get(`${origin}/?ref=ALICE`, { headers: browser }), "response");
  landed.resume();
  assert.match(landed.headers["cache-control"], /private|no-store/);
  const cookies = landed.headers["set-cookie"].map((each) => each.split(";")[0]);
  assert.deepEqual(
    cookies.map((each) => each.split("=")[0]),
    ["svc_click_id", "svc_session_id"],
  );
  const post = (path) => fetch(origin + path, { method: "POST", headers: { cookie: cookies.join("; ") } });
  assert.equal((await post("/signup")).status, 201);
  assert.equal((await post("/orders/1")).status, 201);
  const declined = await post("/orders/declined");
  assert.deepEqual([declined.status, await declined.json()], [402, { error: "card declined" }]);
  assert.equal((await post("/orders/nothing")).status, 402);
  const admin = `${origin}/admin`;
  assert.equal((await fetch(admin)).status, 403);
  const page = await fetch(admin, { headers: { "x-operator": "ada" } });
  assert.match(await page.text(), /<title>Affiliate delivery<\/title>/);
  assert.deepEqual(await tracker.flush({ timeoutMs: 60_000 }), { settled: true, left: 0 });
  await assert.rejects(tracker.client.status("s1"), TrackingApiError);
  assert.deepEqual(
    received.filter((each) => !each.includes("/status/") || each.endsWith("/s1")),
    ["click", "registration", "lead/payment", "status/s1"].map(
      (path) => `${path.startsWith("status") ? "GET" : "POST"} /api/v1/tracking/${path}`,
    ),
  );
  assert.deepEqual(await tracker.close(), { left: 0, durable: false });
  shop.close();
  service.close();
};
