import assert from "node:assert/strict";
import { test } from "node:test";
import { app, credited, declined, person, referred, reported, stranger } from "./journey.js";

const webhook = (order) => stranger().post("/webhooks/gateway", { order });
const thanks = (visitor, order) => visitor.open(`/thanks/${order}`);

for (const { when, happens } of [
  { when: "before the browser returns", happens: (v, id) => webhook(id).then(() => thanks(v, id)) },
  { when: "after the browser returned", happens: (v, id) => thanks(v, id).then(() => webhook(id)) },
  { when: "while the browser returns", happens: (v, id) => Promise.all([webhook(id), thanks(v, id)]) },
  { when: "and the browser never returns", happens: (_v, id) => webhook(id) },
]) {
  test(`the gateway calls ${when}: one payment, of the affiliate`, async () => {
    const visitor = await referred("ALICE");
    const ada = person();
    await visitor.post("/signup", ada);
    const { body } = await visitor.post("/checkout", ada);
    app.gateway.paid.add(body.id);
    await happens(visitor, body.id);
    await credited("payment", ada, "ALICE", { linkedThrough: "sessionId" });
    assert.equal(await reported("payment", { customerEmail: ada.email }), 1);
  });
}

test("an order of a visitor who declined is not reported, neither by the gateway's call nor in the browser", async () => {
  const visitor = await declined("ALICE");
  const eve = person();
  const { body } = await visitor.post("/checkout", eve);
  app.gateway.paid.add(body.id);
  await webhook(body.id);
  await thanks(visitor, body.id);
  assert.equal(await reported("payment", { customerEmail: eve.email }), 0);
});

test("a browser that returns without having paid is not reported", async () => {
  const visitor = await referred("ALICE");
  const ada = person();
  const { body } = await visitor.post("/checkout", ada);
  await thanks(visitor, body.id);
  assert.equal(await reported("payment", { customerEmail: ada.email }), 0);
});
