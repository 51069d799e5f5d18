import { randomUUID } from "node:crypto";
import express from "express";
import { serve } from "../../shared/serve.js";
import type { Beside } from "./app.js";

/**
 * Another company's login. `/authorize` knows by its parameter `login`, an address, who sits before
 * the browser, and sends them back with a code. Its address is `OAUTH_URL`.
 */
export async function startOAuthServer(): Promise<Beside> {
  const people = new Map<string, string>();
  const app = express();
  app.use(express.urlencoded());
  app.get("/authorize", (req, res) => {
    const code = randomUUID();
    people.set(code, String(req.query.login));
    const back = new URL(String(req.query.redirect_uri));
    back.searchParams.set("code", code);
    back.searchParams.set("state", String(req.query.state));
    res.redirect(back.href);
  });
  // The code is the token, too.
  app.post("/token", (req, res) => {
    const { code } = req.body;
    if (people.has(code)) res.json({ access_token: code, token_type: "Bearer", expires_in: 3_600 });
    else res.status(400).json({ error: "invalid_grant" });
  });
  app.get("/userinfo", (req, res) => {
    const email = people.get(req.get("authorization")?.replace("Bearer ", "") ?? "");
    if (email) res.json({ id: email, sub: email, email, email_verified: true, name: email.split("@")[0] });
    else res.sendStatus(401);
  });
  const { port, stop } = await serve(app);
  return { environment: { OAUTH_URL: `http://127.0.0.1:${port}` }, stop };
}
