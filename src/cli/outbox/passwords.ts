import { harmless } from "../../shared/harmless.js";
import { Secret } from "../../shared/secret.js";

/** A function that removes the passwords of these URLs from a text, in every spelling. */
export function passwordHider(urls: readonly string[]): (text: string) => string {
  const spellings = new Set(urls.flatMap(passwordsIn).flatMap(urlSpellingsOf));
  spellings.delete("");
  // The longest first: otherwise the rest of a longer spelling would be shown.
  const secrets = [...spellings].sort((a, b) => b.length - a.length).map((each) => new Secret(each));
  return (text) => secrets.reduce((hidden, secret) => secret.removeFrom(hidden), text);
}

/** The passwords as they are written. By patterns, because a URL that cannot be parsed has a password too. */
function passwordsIn(url: string): string[] {
  const found = (text: string, pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, password = ""]) => password);
  return [
    ...found(url, /:\/\/[^:/?#]*:([^/?#]*)@/g),
    // To the last @: a password that is not encoded may have one, and a slash.
    ...found(url.slice(0, Math.max(0, url.lastIndexOf("@"))), /:\/\/[^:/?#]*:(.*)$/gs),
    ...found(url, /[?&]\w*password=([^&#]*)/gi),
  ];
}

function urlSpellingsOf(password: string): string[] {
  // In a query, + is a space.
  const meant = [password, password.replaceAll("+", " ")].map(decoded);
  return [password, ...meant].flatMap((each) => [
    each,
    harmless(() => encodeURI(each)) ?? each,
    harmless(() => encodeURIComponent(each)) ?? each,
    JSON.stringify(each).slice(1, -1),
  ]);
}

function decoded(text: string): string {
  return harmless(() => decodeURIComponent(text)) ?? text;
}
