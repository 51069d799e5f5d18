import { type App, paid, taken, walkShop } from "./shared/app.js";

const CREATE = `npx --yes create-next-app@16.4.3 shop --js --app --no-eslint --no-tailwind --no-src-dir --use-npm
  --skip-install --disable-git --empty --yes`;

export default {
  title: "Next.js behind an Express server: the app of create-next-app, with route handlers",
  async make({ install, run }) {
    await run(CREATE.split(/\s+/));
    await install({ express: "5.3.0" }, "shop");
  },
  root: "shop",
  patch: [
    { copy: "next/get-tracker.mjs", to: "shop/get-tracker.mjs" },
    { copy: "next/server.mjs", to: "shop/server.mjs" },
    { copy: "next/signup.js", to: "shop/app/api/signup/route.js" },
    { copy: "next/paid.js", to: "shop/app/api/paid/route.js" },
    {
      file: "shop/next.config.mjs",
      below: "const nextConfig = {",
      add: '  serverExternalPackages: ["express-affiliate"],',
    },
  ],
  prepare: ({ run }) => run(["npx", "next", "build"], "shop").then(() => {}),
  start: ["sh", "-c", "cd shop && exec node server.mjs"],
  walk: (walk) =>
    walkShop(walk, {
      signUp: async (visitor, { email }) => taken(await visitor.post("/api/signup", { email })),
      pay(visitor, { email }, nth) {
        const order = { id: `order-${nth}`, email, total: 19.9 };
        return paid(order.total, async () => taken(await visitor.post("/api/paid", order)));
      },
    }),
} satisfies App;
