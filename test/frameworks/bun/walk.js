import { showsFacts } from "./facts.js";

showsFacts("node_modules/.bin/bun", "anywhere.js");
