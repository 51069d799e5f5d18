import type { Project, Walked } from "./project.js";

/** What became of each recipe, with each Express and on each Node. */
export interface Table {
  /** Prints what a walk that failed has said. */
  set(project: Project, node: number, walked: Walked): void;
  /** Prints it all, and says whether all is right. */
  print(): boolean;
}

export function createTable(
  names: readonly string[],
  express: readonly number[],
  nodes: readonly number[],
): Table {
  const cells = new Map<string, string>();
  const columns = express.flatMap((major) => nodes.map((node) => ({ major, node })));
  let passed = 0;
  let failed = 0;

  return {
    set({ name, express }, node, { isRight, facts, output }) {
      if (isRight) passed++;
      else failed++;
      if (!isRight) console.log(`\n--- ${name} with Express ${express} on Node ${node} fails\n${output}`);
      cells.set(`${name} ${express} ${node}`, isRight ? `ok, ${facts}` : "FAILED");
    },
    print() {
      const rows = [
        ["", ...columns.map(({ major, node }) => `Express ${major}, Node ${node}`)],
        ...names.map((name) => [
          name,
          // A dash if the framework does not take that Express.
          ...columns.map(({ major, node }) => cells.get(`${name} ${major} ${node}`) ?? "–"),
        ]),
      ];
      const widths = columns.map((_, nth) => Math.max(...rows.map((row) => row[nth]?.length ?? 0)));
      console.log();
      for (const row of rows) console.log(row.map((cell, nth) => cell.padEnd(widths[nth] ?? 0)).join("  "));
      console.log(`\n${passed} passed, ${failed} failed`);
      return failed === 0 && passed > 0;
    },
  };
}
