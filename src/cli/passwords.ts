import { harmless } from "../shared/harmless.js";
import { Secret } from "../shared/secret.js";

/** Returns a function that removes these URLs' passwords from a text, in every spelling. */
export function passwordHider(urls: readonly string[]): (text: string) => string {
  const spellings = new Set(urls.flatMap(passwordsIn).flatMap(meaningsOf));
  spellings.delete("");
  // The longest first: otherwise the rest of a longer spelling would be shown.
  const secrets = [...spellings].sort((a, b) => b.length - a.length).map((spelling) => new Secret(spelling));
  return (text) => secrets.reduce((hidden, secret) => secret.removeFrom(hidden), text);
}

/** Found by patterns: a URL that cannot be parsed has a password too. */
function passwordsIn(url: string): string[] {
  const found = (text: string, pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, password = ""]) => password);
  return [
    ...found(url, /:\/\/[^:/?#]*:([^/?#]*)@/g),
    // To the last @: a password that is not encoded may contain one, and a slash.
    ...found(url.slice(0, Math.max(0, url.lastIndexOf("@"))), /:\/\/[^:/?#]*:(.*)$/gs),
    ...found(url, /[?&]\w*password=([^&#]*)/gi),
  ];
}

/** As it stands, and what it means: percent-encoded, and in a query with + for a space. */
function meaningsOf(password: string): string[] {
  const spelt = [password, password.replaceAll("+", " ")];
  return [password, ...spelt.map((text) => harmless(() => decodeURIComponent(text)) ?? text)];
}
