import segment from "./segment.js";

export default {
  ...segment,
  name: "segment-id",
  title: "Segment, `messageId`",
  setUp: "the same, with the payment's id as `messageId`, by which the service drops what it knows",
  dropsKnown: true,
  follows: ["https://segment.com/docs/connections/sources/catalog/libraries/server/node/#track"],
  start: (place) => segment.start(place, (paymentId) => paymentId),
};
