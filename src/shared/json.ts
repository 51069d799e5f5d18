/** `undefined` if the text is no JSON, or not that of an object. */
export function objectFromJson(json: string | null): object | undefined {
  try {
    const parsed: unknown = JSON.parse(json ?? "");
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
