import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { programsOfPostgres } from "../../test/helpers/cluster.ts";

const has = (program) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

/** What these adapters and scenarios need and this machine has not. Nothing is installed here. */
export function missing(pairs) {
  const needs = (what) => pairs.some(({ adapter, act }) => adapter.needs === what || act.name === what);
  const installs = pairs.some(
    ({ adapter: { packages } }) => packages && !packages.includes("express-affiliate"),
  );
  return [
    !existsSync("dist/index.js") && "the built package: npm run build",
    installs &&
      !existsSync("bench/others/node_modules/bullmq") &&
      "the other packages: npm install --ignore-scripts --prefix bench/others",
    needs("redis") && !has("redis-server") && "redis-server",
    needs("gateway") && !has("nginx") && "nginx",
    needs("postgres") && !programsOfPostgres() && "PostgreSQL's server, and pg_config",
  ].filter(Boolean);
}
