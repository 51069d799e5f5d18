import { type App, inFile, taken, type Visitor, walkShop } from "./shared/app.js";
import { signUpByEmail, trackerEdits } from "./shared/better-auth.js";
import { makeTStack, tStack } from "./shared/t-stack.js";

const HOOK = `    databaseHooks: {
      user: {
        create: {
          after: async (user, context) => {
            const registration = { email: user.email, customerId: user.id, customerName: user.name };
            const attribution = context?.headers ? tracker.attributionOf(context.headers) : {};
            await tracker.trackRegistration(registration, attribution);
          },
        },
      },
    },`;

const REPORT = `      if (!input.completed || !ctx.session) return;
      const payment = { paymentId: input.id, customerEmail: ctx.session.user.email, leadValue: 19.9 };
      await ctx.affiliate.trackPayment(payment);`;

async function call(visitor: Visitor, procedure: string, input: unknown) {
  return taken(await visitor.post(`/trpc/${procedure}`, input)).body.result.data;
}

export default {
  ...tStack,
  title:
    "tRPC on Express: the app of create-better-t-stack, with better-auth and PostgreSQL. A to-do that is done is a payment",
  make: makeTStack,
  patch: [
    ...trackerEdits,
    { file: "shop/packages/auth/src/index.ts", below: "emailAndPassword:", add: HOOK },
    {
      file: "shop/apps/server/src/index.ts",
      below: "const app = express();",
      add: "app.use(tracker, tracker.onClick());",
    },
    {
      file: "shop/apps/server/src/context.ts",
      below: "    db,",
      add: '    affiliate: (opts.req as import("express-affiliate").Attributed<typeof opts.req>).affiliate,',
    },
    ...inFile(
      "shop/packages/api/src/context.ts",
      { below: 'from "@shop/db";', add: 'import type { RequestAffiliate } from "express-affiliate";' },
      { below: "db: Database;", add: "  affiliate: RequestAffiliate;" },
    ),
    {
      file: "shop/packages/api/src/routers/todo.ts",
      replace: `      return await ctx.db
        .update(todo)
        .set({ completed: input.completed })
        .where(eq(todo.id, input.id));`,
      by: `      await ctx.db
        .update(todo)
        .set({ completed: input.completed })
        .where(eq(todo.id, input.id));
${REPORT}`,
    },
  ],
  walk: (walk) =>
    walkShop(walk, {
      signUp: signUpByEmail,
      async pay(visitor, _person, nth) {
        await call(visitor, "todo.create", { text: `order ${nth}` });
        const { body } = taken(await visitor.open("/trpc/todo.getAll"));
        const { id } = body.result.data.find(({ text }: { text: string }) => text === `order ${nth}`);
        const become = (completed: boolean) => call(visitor, "todo.toggle", { id, completed });
        await become(true);
        return { value: 19.9, payAgain: () => become(true), refund: () => become(false) };
      },
    }),
} satisfies App;
