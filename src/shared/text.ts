/** The first `longest` UTF-16 units of a text, without half a character: an unpaired surrogate becomes U+FFFD. */
export function cut(text: string, longest: number): string {
  const start = text.slice(0, longest + 1).toWellFormed();
  return start.slice(0, longest).replace(/[\ud800-\udbff]$/, "");
}

// V8 keeps a whole text in memory for a part of it that is at least this long.
const LENGTH_OF_PARTS = 13;

/** The same text. Where it is a part of a longer one, such as a header or a body, the longer one can be freed. */
export function ownCopy(text: string): string {
  return text.length < LENGTH_OF_PARTS ? text : Buffer.from(text).toString();
}
