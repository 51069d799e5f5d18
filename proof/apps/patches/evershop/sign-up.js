import { tracker } from "../../../../../tracker.mjs";

export default async (request, response, next) => {
  const { uuid, email, full_name } = response.$body.data;
  const registration = { email, customerId: uuid, customerName: full_name };
  await tracker.trackRegistration(registration, tracker.attributionOf(request));
  next();
};
