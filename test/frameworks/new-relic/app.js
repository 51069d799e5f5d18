import { paymentOf } from "./payment.js";
import { createShop } from "./shop.js";
import { tracker } from "./tracker.js";

const app = createShop();

// Its transaction goes on until the payment has been sent.
app.post("/slow-checkout", async (req, res) => {
  const attempted = new Promise((resolve) => tracker.on("attempt", resolve));
  await req.affiliate.trackPayment(paymentOf({ ...req.body, total: 19.9 }));
  await attempted;
  res.sendStatus(204);
});

export const server = app.listen(process.env.PORT ?? 3000);
