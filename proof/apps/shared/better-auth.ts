import { partOf } from "../../../test/helpers/docs/pages.js";
import { type Edit, inFile, type Person, taken, type Visitor } from "./app.js";

export async function signUpByEmail(visitor: Visitor, { email, name, password }: Person): Promise<void> {
  taken(await visitor.post("/api/auth/sign-up/email", { email, name, password }));
}

/** What docs/frameworks.md adds to the options of better-auth. */
const guide = partOf("test/frameworks/better-auth/app.js", "hooks") ?? "";
const FIELDS_AND_HOOKS = guide.slice(guide.indexOf("  user: {"), guide.indexOf("\n});"));

const ATTRIBUTION = `
const attributionIn = (context: { headers?: Headers } | null) =>
  context?.headers ? tracker.attributionOf(context.headers) : {};`;

/** Makes the tracker, where better-auth and the server find it. */
export const trackerEdits: readonly Edit[] = [
  { copy: "tracker.mjs", to: "shop/packages/auth/src/tracker.ts" },
  {
    file: "shop/packages/auth/src/index.ts",
    below: 'from "better-auth";',
    add: 'import { tracker } from "./tracker";',
  },
  {
    file: "shop/apps/server/src/index.ts",
    below: 'from "@shop/api/routers/index";',
    add: 'import { tracker } from "@shop/auth/tracker";',
  },
];

/** Reports sign-ups from better-auth's hooks, and keeps the snapshot on the user's row. */
export const userEdits: readonly Edit[] = [
  ...trackerEdits,
  ...inFile(
    "shop/packages/auth/src/index.ts",
    { below: 'from "./tracker";', add: ATTRIBUTION },
    { below: "emailAndPassword:", add: FIELDS_AND_HOOKS },
  ),
  {
    file: "shop/packages/db/src/schema/auth.ts",
    below: 'image: text("image"),',
    add: '  affiliate: text("affiliate"),',
  },
];
