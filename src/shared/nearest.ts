import { closest, distance } from "fastest-levenshtein";

/** The word in `words` that is most like a mistyped one; `undefined` where none is similar. */
export function nearestWord(word: string, words: readonly string[]): string | undefined {
  const typed = word.toLowerCase();
  const longer = typed.length >= 3 && words.find((each) => each.toLowerCase().startsWith(typed));
  if (longer) return longer;
  const nearest = words.find((each) => each.toLowerCase() === closest(typed, words.map(lowerCase)));
  if (nearest === undefined) return undefined;
  const isNear = distance(typed, nearest.toLowerCase()) <= Math.max(2, typed.length / 3);
  return isNear ? nearest : undefined;
}

function lowerCase(word: string): string {
  return word.toLowerCase();
}
