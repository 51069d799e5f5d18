const IS_EVENT = /^e-(\d+)@/;

/**
 * What became of the payments whose visitors were answered with success, and how many visitors were
 * not.
 *
 * @param visits what each visitor got: `email`, `status`, `isUnserved`.
 * @param arrivals what the service recorded, in its order: `email`, `key`, `when`.
 * @param held the addresses of the payments that an operator can still send.
 * @param ended when all visitors had come and the service was well again.
 * @param visitors how many there are; the payment n is of the visitor n modulo that.
 */
export function outcomeOf({ visits, arrivals, held, ended, visitors }) {
  const happened = new Set(visits.filter(({ status }) => status === 201).map(({ email }) => email));
  const recorded = arrivals.filter(({ email }) => IS_EVENT.test(email));
  const first = new Map();
  for (const arrival of recorded) if (!first.has(arrival.email)) first.set(arrival.email, arrival);
  const keys = recorded.flatMap(({ key }) => key ?? []);
  const missing = [...happened].filter((email) => !first.has(email));
  return {
    happened: happened.size,
    arrived: happened.size - missing.length,
    held: missing.filter((email) => held.includes(email)).length,
    twice: recorded.length - first.size,
    repeatedKeys: keys.length - new Set(keys).size,
    outOfOrder: overtaken([...first.keys()], visitors),
    lastMs: Math.round(Math.max(0, ...[...first.values()].map(({ when }) => when - ended))),
    visitors: {
      failed: visits.filter(({ status, isUnserved }) => status !== 201 && !isUnserved).length,
      unserved: visits.filter(({ isUnserved }) => isUnserved).length,
    },
  };
}

/** How many came after a later payment of the same visitor. */
function overtaken(emails, visitors) {
  const latest = new Map();
  return emails.filter((email) => {
    const nth = Number(IS_EVENT.exec(email)[1]);
    const before = latest.get(nth % visitors) ?? -1;
    latest.set(nth % visitors, Math.max(before, nth));
    return before > nth;
  }).length;
}
