/** JSON that a database of any encoding can hold. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The object that a JSON text is of; `undefined` where it is of none. */
export function parsedOf(json: string | null): object | undefined {
  try {
    const parsed: unknown = JSON.parse(json ?? "");
    return typeof parsed === "object" && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}
