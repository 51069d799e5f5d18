const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** A duration in its largest unit. */
export function span(ms) {
  const [unit, length] = units.find(([, length]) => ms >= length) ?? ["ms", 1];
  return `${Math.floor(ms / length)} ${unit}`;
}
