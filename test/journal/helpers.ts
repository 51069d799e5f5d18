import { createJournal } from "../../src/journal/journal.js";
import { FakeClock } from "../helpers/fake-clock.js";

/** A journal, and what it logs: when, at which level, and the line without the package's name. */
export function startJournal() {
  const clock = new FakeClock();
  const lines: { readonly at: number; readonly level: string; readonly text: string }[] = [];
  const keep = (level: string) => (line: string) =>
    lines.push({ at: clock.now(), level, text: line.replace(/^express-affiliate: /, "") });
  const journal = createJournal({ logger: { warn: keep("warn"), error: keep("error") }, clock });
  return { clock, lines, journal, texts: () => lines.map(({ text }) => text) };
}
