import { showsFacts } from "./facts.js";

await showsFacts("node_modules/.bin/bun", "anywhere.js");
