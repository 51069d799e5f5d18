import posthog from "./posthog.js";
import { uuidOf } from "./uuid.js";

export default {
  ...posthog,
  name: "posthog-id",
  title: "PostHog, `uuid`",
  setUp: "the same, with a `uuid` made of the payment's id, by which the service drops what it knows",
  dropsKnown: true,
  follows: ["https://posthog.com/docs/data/events#event-deduplication"],
  start: (place) => posthog.start(place, uuidOf),
};
