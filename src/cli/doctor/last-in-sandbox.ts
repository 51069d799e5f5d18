import { harmless } from "../../shared/harmless.js";
import { visible } from "../../shared/printable.js";
import { withoutTrailingSlashes } from "../../shared/text.js";
import { type CheckResult, notDone, note, well } from "../finding.js";
import { LAST } from "./outbox.js";

const TIMEOUT_MS = 5_000;

interface Entry {
  readonly kind: string;
  readonly at: string;
  readonly affiliateReference: string | null;
  readonly notLinked?: string | null | undefined;
}

/** A sandbox's last entries. A real service has no ledger to ask for. */
export async function* lastInSandbox(baseUrl: URL): AsyncGenerator<CheckResult> {
  const ledger = await ledgerAt(`${withoutTrailingSlashes(baseUrl.href)}/ledger.json?limit=${LAST}`);
  const entries =
    ledger && harmless(() => [ledger.clicks, ledger.registrations, ledger.payments].flat().map(read));
  if (!entries) {
    yield notDone(
      "what the service has recorded last cannot be asked: only a sandbox has a ledger (--outbox shows the last events of an outbox)",
    );
    return;
  }
  if (entries.length === 0) yield note("the sandbox has recorded nothing yet");
  const last = entries.toSorted((one, other) => other.at.localeCompare(one.at)).slice(0, LAST);
  for (const { kind, at, affiliateReference, notLinked } of last) {
    const says = `recorded ${at}: a ${kind}, `;
    yield affiliateReference === null
      ? note(`${says}credited to no affiliate: ${notLinked}`)
      : well(`${says}credited to ${visible(affiliateReference)}`);
  }
}

/** Without the key: a page that is not there needs none. */
async function ledgerAt(url: string): Promise<Record<string, unknown[]> | undefined> {
  try {
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
    return response.ok ? ((await response.json()) as Record<string, unknown[]>) : undefined;
  } catch {
    return undefined;
  }
}

/** @throws TypeError if it is no entry of a ledger. */
function read(entry: unknown): Entry {
  const { kind, at, affiliateReference, notLinked } = entry as Entry;
  if (typeof kind !== "string" || typeof at !== "string") throw new TypeError("no entry of a ledger");
  return { kind, at, affiliateReference, notLinked };
}
