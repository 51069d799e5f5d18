import assert from "node:assert/strict";
import { test } from "node:test";
import { credited, person, referred, reported, send } from "./journey.js";
import "./json-walk.js";

test("staff make no clicks, and an order that they enter is credited to the affiliate of its customer", async () => {
  const visitor = await referred("FAY");
  const fay = person();
  await send(visitor, "/signup", fay);
  const clicks = await reported("click");
  const { status } = await visitor.open("/admin?ref=GUS");
  assert.equal(status, 302);
  const form = { "content-type": "application/x-www-form-urlencoded" };
  await visitor.send("POST", "/admin/login", form, "email=staff@shop.example&password=of+staff");
  assert.deepEqual([...visitor.cookies.keys()], ["svc_click_id", "svc_session_id", "adminjs"]);
  await visitor.send("POST", "/admin/api/pages/orders", form, `id=order-7&email=${fay.email}`);
  await credited("payment", fay, "FAY", { linkedThrough: "sessionId" });
  assert.equal(await reported("click"), clicks);
});
