import { randomUUID } from "node:crypto";
import { inject } from "vitest";

/** A new database on the server that all test files share. */
export async function onShared<Address>(
  name: "postgres" | "mariadb",
  createDatabase: (server: Address, name: string) => Promise<Address>,
): Promise<Address> {
  const answer = await fetch(`${inject("sharedServers")}/${name}`);
  if (!answer.ok) throw new Error(await answer.text());
  return createDatabase((await answer.json()) as Address, `tests_${randomUUID().replaceAll("-", "")}`);
}
