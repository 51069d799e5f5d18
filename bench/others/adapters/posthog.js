import { uuidOf } from "./uuid.js";

export const posthog = {
  name: "posthog",
  title: "PostHog",
  setUp:
    "`capture()`; by default sent once 20 events wait, or after 5 s, and 3 retries. At the end `shutdown()`",
  packages: ["posthog-node"],
  follows: ["https://posthog.com/docs/libraries/node"],
  async start({ service }, idOf = () => undefined) {
    const { PostHog } = await import("posthog-node");
    const client = new PostHog("key", { host: service });
    client.on("error", () => {});
    return {
      track({ visitor, paymentId, email, total }) {
        const properties = { paymentId, email, total };
        client.capture({ distinctId: visitor, event: "payment", properties, uuid: idOf(paymentId) });
      },
      close: () => client.shutdown(),
    };
  },
};

export const posthogId = {
  ...posthog,
  name: "posthog-id",
  title: "PostHog, `uuid`",
  setUp: "the same, with a `uuid` made of the payment's id, by which the service drops what it knows",
  dropsKnown: true,
  follows: ["https://posthog.com/docs/data/events#event-deduplication"],
  start: (place) => posthog.start(place, uuidOf),
};
