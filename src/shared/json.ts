/** The object that a JSON text describes; `undefined` where it describes none, or is no JSON. */
export function objectFromJson(json: string | null): object | undefined {
  try {
    const parsed: unknown = JSON.parse(json ?? "");
    return typeof parsed === "object" && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}
