import { showsFacts } from "./facts.js";

showsFacts("node_modules/.bin/deno", "run", "--allow-all", "anywhere.js");
