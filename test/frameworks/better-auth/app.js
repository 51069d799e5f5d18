import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { fromNodeHeaders, toNodeHandler } from "better-auth/node";
import express from "express";
import { tracker } from "./tracker.js";

const database = memoryAdapter({ user: [], session: [], account: [], verification: [] });
const app = express();

// #region hooks
const auth = betterAuth({
  database,
  emailAndPassword: { enabled: true },
  user: {
    additionalFields: { affiliate: { type: "string", required: false, input: false, returned: false } },
  },
  databaseHooks: {
    user: {
      create: {
        // The snapshot stays on the user's row, for the payments that come without a browser.
        before: async (user, context) => ({
          data: { ...user, affiliate: JSON.stringify(attributionIn(context)) },
        }),
        after: async (user, context) => {
          const registration = { email: user.email, customerId: user.id, customerName: user.name };
          await tracker.trackRegistration(registration, attributionIn(context));
        },
      },
    },
  },
});

/** Your own code may create a user without headers. */
const attributionIn = (context) => (context?.headers ? tracker.attributionOf(context.headers) : {});

app.all(/^\/api\/auth\//, toNodeHandler(auth)); // before `express.json()`
// #endregion

app.use(tracker, express.json());

app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

app.post(
  "/checkout",
  tracker.onPayment(async (req, res) => {
    const session = await auth.api.getSession({ headers: fromNodeHeaders(req.headers) });
    if (!session) return void res.sendStatus(401);
    const payment = { paymentId: req.body.id, customerEmail: session.user.email, leadValue: 19.9 };
    res.sendStatus(204);
    return payment;
  }),
);

/** As a job does that charges the customer each month. */
export async function renew(email, paymentId) {
  const { adapter } = await auth.$context;
  const user = await adapter.findOne({ model: "user", where: [{ field: "email", value: email }] });
  return tracker.trackPayment({ paymentId, customerEmail: user.email, leadValue: 19.9 }, user.affiliate);
}

export const server = app.listen(process.env.PORT ?? 3000);
