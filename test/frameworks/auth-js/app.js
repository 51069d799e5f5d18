import { AsyncLocalStorage } from "node:async_hooks";
import { ExpressAuth, getSession } from "@auth/express";
import express from "express";
import { database } from "./database.js";
import { tracker } from "./tracker.js";

const visitor = new AsyncLocalStorage();

/** What was mailed: the links by their addresses. */
export const links = new Map();

const config = {
  secret: "a secret of thirty-two characters",
  trustHost: true,
  adapter: database,
  session: { strategy: "jwt" },
  providers: [
    {
      id: "email",
      type: "email",
      name: "E-mail",
      maxAge: 600,
      sendVerificationRequest: async ({ identifier, url }) => void links.set(identifier, url),
    },
  ],
  events: {
    async createUser({ user }) {
      await visitor.getStore()?.trackRegistration({ email: user.email, customerId: user.id });
    },
  },
};

const app = express();
app.use(tracker, tracker.onClick(), express.json());
app.get("/", (_req, res) => res.send("Welcome"));
app.use((req, _res, next) => visitor.run(req.affiliate, next));
app.use("/auth", ExpressAuth(config));

app.post(
  "/checkout",
  tracker.onPayment(async (req, res) => {
    const session = await getSession(req, config);
    if (!session) return void res.sendStatus(401);
    const payment = { paymentId: req.body.id, customerEmail: session.user.email, leadValue: 19.9 };
    res.sendStatus(204);
    return payment;
  }),
);

export const server = app.listen(process.env.PORT ?? 3000);
