import { createHash } from "node:crypto";

/** SDKs of analytics services, with the payment's id, by which the service drops what it knows. */
export const segment = {
  name: "segment",
  title: "Segment",
  setUp:
    "`track()` with the payment's id as `messageId`; by default batches of 15, or of 10 s, and 10 retries. At the end `closeAndFlush()`",
  packages: ["@segment/analytics-node"],
  dropsKnown: true,
  follows: ["https://segment.com/docs/connections/sources/catalog/libraries/server/node/#track"],
  async start({ service }) {
    const { Analytics } = await import("@segment/analytics-node");
    const analytics = new Analytics({ writeKey: "key", host: service });
    analytics.on("error", () => {});
    return {
      track({ visitor, paymentId, email, total }) {
        const properties = { paymentId, email, total };
        analytics.track({ userId: visitor, event: "Payment", properties, messageId: paymentId });
      },
      close: () => analytics.closeAndFlush(),
    };
  },
};

export const posthog = {
  name: "posthog",
  title: "PostHog",
  setUp:
    "`capture()` with a `uuid` made of the payment's id; by default sent once 20 events wait, or after 5 s, and 3 retries. At the end `shutdown()`",
  packages: ["posthog-node"],
  dropsKnown: true,
  follows: [
    "https://posthog.com/docs/libraries/node",
    "https://posthog.com/docs/data/events#event-deduplication",
  ],
  async start({ service }) {
    const { PostHog } = await import("posthog-node");
    const client = new PostHog("key", { host: service });
    client.on("error", () => {});
    return {
      track({ visitor, paymentId, email, total }) {
        const properties = { paymentId, email, total };
        client.capture({ distinctId: visitor, event: "payment", properties, uuid: uuidOf(paymentId) });
      },
      close: () => client.shutdown(),
    };
  },
};

/** The same UUID for the same payment. */
function uuidOf(paymentId) {
  const hex = createHash("sha256").update(paymentId).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
