import AdminJSExpress from "@adminjs/express";
import AdminJS from "adminjs";
import express from "express";
import { tracker } from "./tracker.js";

const users = new Map();

/** A page on which staff enter orders that came by telephone: what the customer's row has kept credits them. */
const orders = {
  async handler({ method, payload }) {
    if (method !== "post") return {};
    const { id, email } = payload;
    const payment = { paymentId: id, customerEmail: email, leadValue: 19.9 };
    const { outcome } = await tracker.trackPayment(payment, users.get(email)?.affiliate);
    return { outcome };
  },
};

const admin = new AdminJS({ rootPath: "/admin", pages: { orders } });
const authentication = {
  authenticate: async (email, password) => (password === "of staff" ? { email } : null),
  cookieName: "adminjs",
  cookiePassword: "a secret of thirty-two characters",
};
const sessions = { resave: false, saveUninitialized: true };
const router = AdminJSExpress.buildAuthenticatedRouter(admin, authentication, null, sessions);

const app = express();
app.use(admin.options.rootPath, router); // staff are no visitors
app.use(tracker, tracker.onClick());
app.use(express.json());
app.get("/", (_req, res) => res.send("Welcome"));

app.post(
  "/signup",
  tracker.onRegistration(async (req, res) => {
    const { email } = req.body;
    if (!email) return void res.sendStatus(400);
    users.set(email, { affiliate: req.affiliate.snapshot() });
    res.sendStatus(204);
    return { email, customerId: email };
  }),
);

app.post(
  "/checkout",
  tracker.onPayment(async (req, res) => {
    res.sendStatus(204);
    return { paymentId: req.body.id, customerEmail: req.body.email, leadValue: 19.9 };
  }),
);

export const server = app.listen(process.env.PORT ?? 3000);
