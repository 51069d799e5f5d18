import { withoutTrailingSlashes } from "../shared/text.js";

/**
 * The program and the service's address: `42:https://tracking.example`. Two programs, or a developer's sandbox and production,
 * may share an outbox's storage: the destination tells their events apart.
 */
export function destinationOf(clientId: number, { origin, pathname }: URL): string {
  return `${clientId}:${origin}${withoutTrailingSlashes(pathname)}`;
}
