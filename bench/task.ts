/** What this process was started with. */
export const argument = JSON.parse(process.argv[2] ?? "{}");

/**
 * Says what there is to say to the process that started this one: once at the start, and then
 * whenever that one asks.
 */
export function say<Report>(ready: Report, report = () => ready): void {
  process.on("message", () => process.send?.(report()));
  process.on("disconnect", () => process.exit());
  process.send?.(ready);
}
