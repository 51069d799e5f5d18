import { showsFacts } from "./facts.js";

await showsFacts("node_modules/.bin/deno", "run", "--allow-all", "anywhere.js");
