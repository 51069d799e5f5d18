import { distance } from "fastest-levenshtein";

/** The word that is most like a mistyped one; `undefined` if none is similar. */
export function nearestWord(word: string, words: readonly string[]): string | undefined {
  const typed = word.toLowerCase();
  const longer = typed.length >= 3 && words.find((known) => known.toLowerCase().startsWith(typed));
  if (longer) return longer;
  const distanceTo = (known: string) => distance(typed, known.toLowerCase());
  const [nearest] = words.toSorted((one, other) => distanceTo(one) - distanceTo(other));
  const isNear = nearest !== undefined && distanceTo(nearest) <= Math.max(2, typed.length / 3);
  return isNear ? nearest : undefined;
}
