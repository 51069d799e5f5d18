import bullmq from "./bullmq.js";

export default {
  ...bullmq,
  name: "bullmq-id",
  title: "BullMQ, `jobId`",
  setUp: "the same, with the payment's id as `jobId`",
  follows: ["https://docs.bullmq.io/guide/jobs/job-ids"],
  start: (place) => bullmq.start(place, (paymentId) => paymentId),
};
