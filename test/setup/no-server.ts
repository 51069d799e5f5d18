import childProcess, { ChildProcess } from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { Server } from "node:net";

function refuse(): never {
  throw new Error("npm run test:fast starts no server and no process: see test/setup/fast.ts");
}

// If a test does so all the same, it fails.
Server.prototype.listen = refuse;
Object.assign(ChildProcess.prototype, { spawn: refuse });
Object.assign(childProcess, { spawnSync: refuse, execSync: refuse, execFileSync: refuse });
syncBuiltinESMExports();
