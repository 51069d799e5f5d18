/** The request of the service's specification, for adapters that post each payment themselves. */
function send(service, { visitor, email, total }, signal) {
  const payment = { leadType: "PAYMENT", customerEmail: email, leadValue: total };
  return fetch(`${service}/api/v1/tracking/lead/payment`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ clientId: 1, ...payment, sessionId: visitor }),
    signal,
  });
}

/** One attempt of an adapter that retries, with a time limit, as ours has one. */
export async function post(service, payment) {
  const response = await send(service, payment, AbortSignal.timeout(10_000));
  await response.text();
  if (!response.ok) throw new Error(response.statusText);
}

export const fetchAndCatch = {
  name: "fetch",
  title: "`fetch().catch()`",
  setUp: "not awaited; no retries, no time limit of its own",
  follows: ["https://nodejs.org/docs/latest-v20.x/api/globals.html#fetch"],
  start: ({ service }) => ({
    track(payment) {
      send(service, payment)
        .then((response) => response.text())
        .catch(() => {});
    },
  }),
};
