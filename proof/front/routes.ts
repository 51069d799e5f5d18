import { exactly, figuresOf, wrongIn } from "../shared/figures.js";
import type { Part } from "../shared/part.js";
import { turnOf } from "../shared/turn.js";
import { simulateRoutes } from "./routes/simulate.js";

export default {
  title: "routes that answer early, late, twice or never, on Express 4 and 5, and visitors who hang up",
  async prove({ short }) {
    const seed = short ? turnOf("routes", 2 ** 31) : Date.now();
    const visits = short ? 5_000 : 50_000;
    const { expected, reported, wrong } = await simulateRoutes(seed, visits);
    const name = `seed ${seed}, ${visits} visits`;
    return [...figuresOf(name, ["payments", reported, exactly(expected)]), ...wrongIn(name, wrong)];
  },
} satisfies Part;
