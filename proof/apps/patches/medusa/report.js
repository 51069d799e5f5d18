const { tracker } = require("../tracker.js");

exports.default = async ({ event, container }) => {
  const entity = event.name === "order.placed" ? "order" : "customer";
  const fields = entity === "order" ? ["id", "email", "metadata", "total"] : ["id", "email", "metadata"];
  const { data } = await container.resolve("query").graph({ entity, fields, filters: { id: event.data.id } });
  const [{ id, email, total, metadata }] = data;
  const payment = { paymentId: id, customerEmail: email, leadValue: total };
  if (entity === "order") await tracker.trackPayment(payment, metadata?.affiliate);
  else await tracker.trackRegistration({ email, customerId: id }, metadata?.affiliate);
};

exports.config = { event: ["order.placed", "customer.created"] };
