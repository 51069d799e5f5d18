/** The first `longest` UTF-16 units of a text, without half a character: an unpaired surrogate becomes U+FFFD. */
export function cut(text: string, longest: number): string {
  const start = text.slice(0, longest + 1).toWellFormed();
  return start.slice(0, longest).replace(/[\ud800-\udbff]$/, "");
}

/**
 * The same text, in memory of its own. V8 keeps a whole header or body in memory for a part of it, as long as the part is used.
 * To cut a text that was put together makes it copy the characters, in a third of the time that a `Buffer` takes.
 */
export function ownCopy(text: string): string {
  return `${text}.`.slice(0, -1);
}
