const { tracker } = require("./tracker.js");

exports.reportSignUp = async ({ doc: user, operation, req }) => {
  if (operation !== "create") return;
  await tracker.trackRegistration({ email: user.email, customerId: user.id }, tracker.attributionOf(req));
};

exports.reportOrder = async ({ doc: order, req }) => {
  if (order.status !== "paid") return;
  const payment = { paymentId: order.id, customerEmail: order.email, leadValue: order.total };
  await tracker.trackPayment(payment, tracker.attributionOf(req));
};
