/**
 * Where a report goes, and for which program: `42:https://tracking.example`. Two programs, or a developer's sandbox and
 * production, may share an outbox's storage; this is what tells their events apart.
 */
export function destinationOf(clientId: number, { origin, pathname }: URL): string {
  return `${clientId}:${origin}${pathname.replace(/\/+$/, "")}`;
}
