import { expect, it } from "vitest";
import { outbox } from "./helpers.js";

const DATABASE = "postgres://shop:pa55word@127.0.0.1:1/shop";
const ID = "0".repeat(32);

it.each([
  [[], "say where it is"],
  [["", "status"], "say where it is"],
  [["here"], "say what to do after where it is: status, list, retry, discard, person, hold"],
  [["here", "look"], "say what to do after where it is"],
  [["status", DATABASE], "say what to do after where it is"],
  [["here", "status", ID], "status takes no ids"],
  [["here", "status", "--all"], "--all does not go with status"],
  [["here", "list", ID], "list takes no ids"],
  [["here", "list", "--limit", "0"], "--limit must be a positive integer"],
  [["here", "list", "--limit", "1e3"], "--limit must be a positive integer"],
  [["here", "retry"], "retry takes either ids or --all"],
  [["here", "retry", "--all", ID], "retry takes either ids or --all"],
  [["here", "retry", DATABASE], "an id is what `list` prints first"],
  [["here", "status", "--schema", "shop"], "--schema goes with a Postgres URL"],
  [[DATABASE, "status", "--schema", 'a"b'], "--schema must be a letter"],
  [["here", "status", "--prefix", "shop_"], "--prefix goes with a MySQL URL"],
  [["mysql://shop:pa55word@127.0.0.1/shop", "status", "--prefix", "a`b"], "--prefix must be a letter"],
  [["redis://shop:pa55word@127.0.0.1/shop", "status"], "a URL must begin with postgres:// or mysql://"],
  [["postgres://shop:1/pa55word@127.0.0.1/shop", "status"], "/ must be written %2F"],
  [["postgres://shop:a@pa55word?b@127.0.0.1/shop", "status"], "? %3F"],
  [["--url-env", "NONE", "status"], "the environment variable NONE is not set"],
  [["--url-env", "DSN", "status"], "DSN must hold a URL that begins with postgres:// or mysql://"],
  [["--url-env", "DATABASE_URL"], "say what to do: status"],
  [["--url-env", "DATABASE_URL", DATABASE, "status"], "say what to do: status"],
  [["here", "status", "--jsn"], "there is no option --jsn; did you mean --json?"],
  [["here", "list", "--kind", "payments"], "registration, payment; did you mean payment?"],
  [["here", "retry", "--all", "--reason", "lost"], "--reason must be rejected, unconfirmed, expired"],
  [["here", "retry", ID, "--reason", "rejected"], "--kind, --reason and --yes go with --all"],
  [["here", "person"], "person takes one e-mail address"],
  [["here", "person", "ada"], "person takes one e-mail address"],
  [["here", "person", "a@b", "c@d"], "person takes one e-mail address"],
  [["here", "person", "@"], "person takes one e-mail address"],
  [["here", "person", "a b@c"], "person takes one e-mail address"],
  [["here", "discard", ID, "--yes"], "--kind, --reason and --yes go with --all"],
  [["here", "discard", "--all"], "with --yes it does so without asking"],
  [["here", "discard", "--all", "--json"], "with --yes it does so without asking"],
  [[`--${DATABASE}`], "there is no option"],
  [["here", `--json=${DATABASE}`, "status"], "does not take an argument"],
])("the command `outbox` refuses %j as usage", async (args, because) => {
  const env = { DATABASE_URL: DATABASE, DSN: "host=db user=shop password=pa55word" };
  const { code, out, err } = await outbox(args, { env });
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(because);
  expect(err).toContain("\nexpress-affiliate outbox --help lists what it takes");
  expect(err).not.toContain("pa55word");
});
