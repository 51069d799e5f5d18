import assert from "node:assert/strict";
import { createSign, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";

// Keys as Clerk's look, and a session's token signed with one of our own: Clerk checks it without asking its service.
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
Object.assign(process.env, {
  CLERK_PUBLISHABLE_KEY: `pk_live_${Buffer.from("clerk.shop.example$").toString("base64")}`,
  CLERK_SECRET_KEY: "sk_live_of_nobody",
  CLERK_JWT_KEY: publicKey.export({ type: "spki", format: "pem" }),
  CLERK_TELEMETRY_DISABLED: "1",
});

const { arrives, send, stranger, walk } = await import("./journey.js");

function tokenOf(userId) {
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: "https://clerk.shop.example",
    sub: userId,
    sid: "sess_1",
    iat: now,
    nbf: now - 5,
    exp: now + 600,
  };
  const [head, body] = [{ alg: "RS256", typ: "JWT", kid: "key" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  const signature = createSign("RSA-SHA256").update(`${head}.${body}`).sign(privateKey, "base64url");
  return `${head}.${body}.${signature}`;
}

const signedInAt = () => String(Math.floor(Date.now() / 1_000) - 60);

let people = 0;

walk({
  async signUp(visitor, person) {
    visitor.cookies.set("__session", tokenOf(`user_${++people}`));
    visitor.cookies.set("__client_uat", signedInAt());
    await send(visitor, "/signup", person);
  },
  pay: (visitor, _person, id) => send(visitor, "/checkout", { id }),
  signUpInVain: (visitor) => send(visitor, "/signup", { email: "ada@shop.example" }, false),
});

test("a visit is a click although Clerk sends it to its own site, as when the session has to be renewed", async () => {
  const visitor = stranger();
  visitor.cookies.set("__client_uat", signedInAt());
  const { status, headers } = await visitor.open("/?ref=DAVE");
  assert.equal(status, 307);
  assert.match(headers.location, /^https:\/\/clerk\.shop\.example\//);
  await arrives({ kind: "click", affiliateReference: "DAVE" });
});
