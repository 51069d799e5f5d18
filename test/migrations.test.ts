import { createHash } from "node:crypto";
import { mysqlMigrations } from "express-affiliate/mysql";
import { postgresMigrations } from "express-affiliate/postgres";
import { expect, test } from "vitest";
import { migrations } from "../src/outbox/disk/file/dialect.js";
import { textOf } from "./helpers/docs/pages.js";
import published from "./published-migrations.json" with { type: "json" };

type Digests = { readonly [Outbox in "disk" | "mysql" | "postgres"]: readonly string[] };

const digestsOf = (versions: readonly string[]) =>
  versions.map((sql) => createHash("sha256").update(sql).digest("hex"));

const today: Digests = {
  disk: digestsOf(migrations()),
  mysql: digestsOf(mysqlMigrations()),
  postgres: digestsOf(postgresMigrations()),
};

/** What a release must have brought: if it is not written down yet, what there is today. */
function expectedOf(release: Digests = today): Digests {
  const { disk, mysql, postgres } = today;
  return {
    disk: disk.slice(0, release.disk.length),
    mysql: mysql.slice(0, release.mysql.length),
    postgres: postgres.slice(0, release.postgres.length),
  };
}

const releasesIn = (changelog: string) =>
  [...changelog.matchAll(/^## (\d+\.\d+\.\d+)/gm)].map(([, version = ""]) => version);

test("the SQL of each released version is what published-migrations.json says: databases have run it, so tables change by a new version", () => {
  const digests: Record<string, Digests> = published;
  for (const release of releasesIn(textOf("CHANGELOG.md"))) {
    expect({ [release]: digests[release] }).toEqual({ [release]: expectedOf(digests[release]) });
  }
});

test("a release whose SQL has changed since, or whose digests nobody has written down, is found", () => {
  expect(releasesIn("## Unreleased\n\n## 1.0.0 (2030-01-01)\n")).toEqual(["1.0.0"]);
  const changed = { ...today, mysql: digestsOf(["create table once"]) };
  expect(expectedOf(changed)).not.toEqual(changed);
  expect(expectedOf(undefined)).toEqual(today);
});
