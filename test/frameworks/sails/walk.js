import { test } from "node:test";
import { promisify } from "node:util";
import { app, credited, person, referred } from "./journey.js";
import "./json-walk.js";

test("a request over a socket, which passes no middleware, is credited", async () => {
  const visitor = await referred("FAY");
  const fay = person();
  const cookie = [...visitor.cookies].map((pair) => pair.join("=")).join("; ");
  const data = { id: "order-7", email: fay.email };
  // What Sails makes of one.
  const virtual = { method: "POST", url: "/checkout", headers: { cookie }, data };
  await promisify(app.sails.request.bind(app.sails))(virtual);
  await credited("payment", fay, "FAY", { linkedThrough: "sessionId" });
});
