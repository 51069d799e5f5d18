export const PATH = "/api/v1/tracking/lead/payment";

/** The request of the service's specification, for adapters that post each payment themselves. */
export function requestOf({ visitor, email, total }) {
  const body = {
    clientId: 1,
    leadType: "PAYMENT",
    customerEmail: email,
    leadValue: total,
    sessionId: visitor,
  };
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

/** One attempt of an adapter that retries, with a time limit, as ours has one. */
export async function post(service, payment) {
  const response = await fetch(service + PATH, {
    ...requestOf(payment),
    signal: AbortSignal.timeout(10_000),
  });
  await response.text();
  if (!response.ok) throw new Error(response.statusText);
}
