import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

const isHere = (path) => existsSync(new URL(path, import.meta.url));

/** What these adapters and scenarios need and this machine has not. Nothing is installed here. */
export function missing(pairs) {
  const needs = (name) => pairs.some(({ adapter, act }) => adapter.name === name || act.name === name);
  const serves = (server) => pairs.some(({ adapter }) => adapter.needs === server);
  const installs = pairs.some(
    ({ adapter: { packages } }) => packages && !packages.includes("express-affiliate"),
  );
  return [
    !isHere("../../dist/index.js") && "the built package: npm run build",
    installs &&
      !isHere("node_modules/bullmq") &&
      "the other packages: npm ci --ignore-scripts --prefix bench/others",
    serves("redis") && !has("redis-server") && "redis-server",
    needs("gateway") && !has("nginx") && "nginx",
    serves("postgres") && !has("pg_config") && "PostgreSQL's server, and pg_config",
  ].filter(Boolean);
}

function has(program) {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}
