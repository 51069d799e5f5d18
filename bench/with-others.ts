import { pathToFileURL } from "node:url";
import { startCluster } from "../test/helpers/cluster.js";

/**
 * Compares this package with what people use today: bench/others/, which no bundle holds, because
 * its packages are in a folder of its own.
 */
export async function compareWithOthers(options: {
  readonly only?: readonly string[];
  readonly quick?: boolean;
}): Promise<void> {
  const { run } = await import(pathToFileURL("bench/others/run.js").href);
  await run({ startCluster, ...options });
}
