const { tracker } = require("../tracker.js");

Parse.Cloud.afterSave(Parse.User, async ({ object: user, original, headers }) => {
  if (original) return; // saved again
  const registration = { email: user.get("email"), customerId: user.id };
  await tracker.trackRegistration(registration, tracker.attributionOf({ headers }));
});

Parse.Cloud.afterSave("Order", async ({ object: order, headers }) => {
  if (order.get("status") !== "paid") return;
  const payment = { paymentId: order.id, customerEmail: order.get("email"), leadValue: order.get("total") };
  await tracker.trackPayment(payment, tracker.attributionOf({ headers }));
});
