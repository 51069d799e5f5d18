import { note, well } from "../finding.js";
import { linesOf, type OpenOutbox, type Report } from "./actions.js";
import { countOf } from "./words.js";

/** Makes an unconfirmed dead letter of every payment that waits: after a restore, the service may have it. */
export async function hold(outbox: OpenOutbox): Promise<Report> {
  const { held, otherConnections } = await outbox.hold();
  const findings = [
    held === 0
      ? well("no payment waits")
      : well(`${countOf(held, "payment")} held: look them up in the service, then retry or discard each`),
  ];
  if (otherConnections > 0) {
    findings.push(
      note(
        `${countOf(otherConnections, "other connection")} to this database: hosts must start after this command`,
      ),
    );
  }
  return { isWell: true, json: { held, otherConnections }, lines: linesOf(findings) };
}

/** Writes a copy of a disk outbox into a new file. */
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
    lines: linesOf([well(`${file}: ${bytes} bytes, and customers' addresses in it`)]),
  };
}
