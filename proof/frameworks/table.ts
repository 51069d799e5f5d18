import { columns } from "../shared/figures.js";
import type { Project, Walked } from "./project.js";

/** What became of each recipe, with each Express and on each Node. */
export function createTable(names: readonly string[], express: readonly number[], nodes: readonly number[]) {
  const cells = new Map<string, string>();
  const ways = express.flatMap((major) => nodes.map((node) => ({ major, node })));
  let passed = 0;
  let failed = 0;

  return {
    /** Prints what a walk that failed has said. */
    set({ name, express }: Project, node: number, { isRight, facts, output }: Walked): void {
      if (isRight) passed++;
      else failed++;
      if (!isRight) console.log(`\n--- ${name} with Express ${express} on Node ${node} fails\n${output}`);
      cells.set(`${name} ${express} ${node}`, isRight ? `ok, ${facts}` : "FAILED");
    },
    /** Prints it all, and says whether all is right. */
    print(): boolean {
      const rows = [
        ["", ...ways.map(({ major, node }) => `Express ${major}, Node ${node}`)],
        ...names.map((name) => [
          name,
          // A dash: the framework does not take that Express, or `--short` left it out.
          ...ways.map(({ major, node }) => cells.get(`${name} ${major} ${node}`) ?? "–"),
        ]),
      ];
      console.log(`\n${columns(rows).join("\n")}`);
      console.log(`\n${passed} passed, ${failed} failed`);
      return failed === 0 && passed > 0;
    },
  };
}
