import type { Project } from "./project.js";

/** The app of Express' own generator, on Express 4.16, with packages beside. */
export async function makeExpressApp(
  { install, run }: Project,
  packages: Readonly<Record<string, string>>,
): Promise<void> {
  await run(["npx", "--yes", "express-generator@4.16.1", "--no-view", "."]);
  await install();
  await install(packages);
}
