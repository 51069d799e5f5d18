const TICK_MS = 20;
const JITTER_MS = 5;
const standstills: { readonly since: number; readonly until: number }[] = [];
let last = performance.now();
let cpu = process.cpuUsage();

// What a timer is late by is the machine's fault, but for what this process has computed meanwhile.
setInterval(() => {
  const now = performance.now();
  const { user, system } = process.cpuUsage(cpu);
  const ms = now - last - TICK_MS - (user + system) / 1_000;
  if (ms > JITTER_MS) standstills.push({ since: now - ms, until: now });
  last = now;
  cpu = process.cpuUsage();
}, TICK_MS).unref();

/** For how many milliseconds between two moments this process got no processor, although it wanted one. */
export function standstill(from = 0, to = Number.POSITIVE_INFINITY): number {
  const within = standstills.map(({ since, until }) => Math.min(until, to) - Math.max(since, from));
  return within.reduce((sum, ms) => sum + Math.max(0, ms), 0);
}
