import type { Figure } from "../../shared/figures.js";

/** One part of `npm run proof front`: the default export of proof/front/NAME.ts. */
export interface Part {
  /** What it shows, in one line. */
  readonly title: string;
  /** Starts and ends the programs that it needs. `short`: fewer visitors and less time. */
  prove(options: { readonly short: boolean }): Promise<{
    readonly scenes: readonly Scene[];
    readonly figures?: readonly Figure[];
  }>;
}

const KINDS = ["clicks", "signUps", "payments"] as const;
type Counts = Readonly<Record<(typeof KINDS)[number], number>>;

/** What some visitors did, and what the service has recorded of them. */
export interface Scene {
  readonly what: string;
  readonly visitors: number;
  readonly expected: Counts;
  readonly seen: Counts;
  /** What is missing, repeated or credited to another affiliate: one sentence each. */
  readonly wrong: readonly string[];
}

/** How many sentences of one scene are printed. */
const LINES = 4;

/** A table of the scenes: under each kind what was expected, and what was seen. */
export function rowsOf(scenes: readonly Scene[]): string[][] {
  const head = ["", "visitors", "clicks", "seen", "sign-ups", "seen", "payments", "seen", ""];
  const all = scenes.length > 1 ? [...scenes, totalOf(scenes)] : scenes;
  return [
    head,
    ...all.map((scene) => [
      `  ${scene.what}`,
      String(scene.visitors),
      ...KINDS.flatMap((kind) => [String(scene.expected[kind]), String(scene.seen[kind])]),
      wrongOf(scene).length > 0 ? "WRONG" : "",
    ]),
  ];
}

/** What is wrong with a scene, with its name. */
export function wrongOf({ what, expected, seen, wrong }: Scene): string[] {
  const counts = KINDS.filter((kind) => expected[kind] !== seen[kind]).map(
    (kind) => `${seen[kind]} ${kind}, not ${expected[kind]}`,
  );
  const more = wrong.length > LINES ? [`… and ${wrong.length - LINES} more`] : [];
  return [...counts, ...wrong.slice(0, LINES), ...more].map((text) => `${what}: ${text}`);
}

function totalOf(scenes: readonly Scene[]): Scene {
  const sum = (of: (scene: Scene) => number) => scenes.reduce((total, scene) => total + of(scene), 0);
  const counts = (side: "expected" | "seen") =>
    Object.fromEntries(KINDS.map((kind) => [kind, sum((scene) => scene[side][kind])])) as Counts;
  return {
    what: "all",
    visitors: sum((scene) => scene.visitors),
    expected: counts("expected"),
    seen: counts("seen"),
    wrong: scenes.flatMap((scene) => scene.wrong),
  };
}
