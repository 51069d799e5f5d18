import { note, well } from "../finding.js";
import type { OpenOutbox, Report } from "./actions.js";
import { countOf } from "./words.js";

/** After a restore, the service may have the payments that wait: makes dead letters of them. */
export async function hold(outbox: OpenOutbox): Promise<Report> {
  const { held, otherConnections } = await outbox.hold();
  const done =
    held === 0
      ? "no payment waits"
      : `${countOf(held, "payment")} held: look them up in the service, then retry or discard each`;
  const hint = `${countOf(otherConnections, "other connection")} to this database: hosts must start after this command`;
  return {
    isWell: true,
    json: { held, otherConnections },
    lines: otherConnections > 0 ? [well(done), note(hint)] : [well(done)],
  };
}

export async function backup(outbox: OpenOutbox, file: string): Promise<Report> {
  if (!outbox.backup) {
    throw new Error(
      "backup is for a directory; the database's own tools copy what is in a database: docs/backups.md",
    );
  }
  const bytes = await outbox.backup(file);
  return {
    isWell: true,
    json: { file, bytes },
    lines: [well(`${file}: ${bytes} bytes, and customers' addresses in it`)],
  };
}
