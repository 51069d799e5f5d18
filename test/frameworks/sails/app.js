import { promisify } from "node:util";
import { Sails } from "sails";
import { tracker } from "./tracker.js";

const checkout = {
  inputs: { id: { type: "string", required: true }, email: { type: "string", required: true } },
  async fn({ id, email }) {
    await this.req.affiliate.trackPayment({ paymentId: id, customerEmail: email, leadValue: 19.9 });
    return { id };
  },
};

const signUp = tracker.onRegistration(async (req, res) => {
  const { email } = req.body;
  if (!email) return void res.badRequest("no address");
  req.session.email = email;
  const registration = { email, customerId: email };
  res.status(201).json({ email });
  return registration;
});

export const sails = new Sails();
await promisify(sails.lift.bind(sails))({
  port: process.env.PORT ?? 1337,
  log: { level: "error" },
  hooks: { grunt: false },
  globals: false,
  session: { secret: "a secret of thirty-two characters" },
  controllers: { moduleDefinitions: { checkout } }, // as a file in `api/controllers` has it
  policies: { "*": tracker }, // as `config/policies.js` has it: for requests over sockets, too
  // As `config/http.js` has it.
  http: {
    middleware: {
      affiliateClick: tracker.onClick(),
      order: ["cookieParser", "session", "affiliateClick", "bodyParser", "router"],
    },
  },
  routes: {
    "GET /": (_req, res) => res.send("Welcome"),
    "POST /signup": signUp,
    "POST /checkout": { action: "checkout" },
  },
});

export const server = sails.hooks.http.server;
export const close = promisify(sails.lower.bind(sails));
