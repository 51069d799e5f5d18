export const segment = {
  name: "segment",
  title: "Segment",
  setUp: "`track()`; by default batches of 15, or of 10 s, and 10 retries. At the end `closeAndFlush()`",
  packages: ["@segment/analytics-node"],
  follows: ["https://segment.com/docs/connections/sources/catalog/libraries/server/node/"],
  async start({ service }, idOf = () => undefined) {
    const { Analytics } = await import("@segment/analytics-node");
    const analytics = new Analytics({ writeKey: "key", host: service });
    analytics.on("error", () => {});
    return {
      track({ visitor, paymentId, email, total }) {
        const properties = { paymentId, email, total };
        analytics.track({ userId: visitor, event: "Payment", properties, messageId: idOf(paymentId) });
      },
      close: () => analytics.closeAndFlush(),
    };
  },
};

export const segmentId = {
  ...segment,
  name: "segment-id",
  title: "Segment, `messageId`",
  setUp: "the same, with the payment's id as `messageId`, by which the service drops what it knows",
  dropsKnown: true,
  follows: ["https://segment.com/docs/connections/sources/catalog/libraries/server/node/#track"],
  start: (place) => segment.start(place, (paymentId) => paymentId),
};
