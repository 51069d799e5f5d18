import assert from "node:assert/strict";
import { type App, inFile, paid, taken, walkShop } from "./shared/app.js";
import { userEdits } from "./shared/better-auth.js";
import { startOAuthServer } from "./shared/oauth-server.js";
import { makeTStack, tStack } from "./shared/t-stack.js";

/** The app's own login with a provider, as better-auth's documentation has it. */
const PROVIDER = `plugins: [
      genericOAuth({
        config: [
          {
            providerId: "company",
            clientId: "shop",
            clientSecret: "secret",
            authorizationUrl: \`\${process.env.OAUTH_URL}/authorize\`,
            tokenUrl: \`\${process.env.OAUTH_URL}/token\`,
            userInfoUrl: \`\${process.env.OAUTH_URL}/userinfo\`,
          },
        ],
      }),
    ]`;

const WEBHOOK = `
app.post("/webhooks/payment", express.json(), async (req, res) => {
  const { id, email, total } = req.body;
  const user = await db.query.user.findFirst({ where: { email } });
  await tracker.trackPayment({ paymentId: id, customerEmail: email, leadValue: total }, user?.affiliate);
  res.sendStatus(204);
});
`;

export default {
  ...tStack,
  title:
    "better-auth on Express: the app of create-better-t-stack, with sign-ups through OAuth, and payments by webhook",
  beside: startOAuthServer,
  async make(project) {
    await makeTStack(project);
    const auth = "shop/packages/auth/src/index.ts";
    const withProvider = (await project.read(auth)).replace("plugins: []", () => PROVIDER);
    await project.write(auth, `import { genericOAuth } from "better-auth/plugins";\n${withProvider}`);
  },
  patch: [
    ...userEdits,
    ...inFile(
      "shop/apps/server/src/index.ts",
      { replace: 'import { auth } from "./services";', by: 'import { auth, db } from "./services";' },
      { below: "const app = express();", add: `app.use(tracker.onClick());\n${WEBHOOK}` },
    ),
  ],
  walk: (walk) =>
    walkShop(walk, {
      async signUp(visitor, { email }) {
        const way = { provider: "company", callbackURL: "/" };
        const { body } = taken(await visitor.post("/api/auth/sign-in/social", way));
        const atProvider = await walk.visitor().open(`${body.url}&login=${email}`);
        assert.equal(taken(await visitor.open(atProvider.headers.location ?? "")).headers.location, "/");
      },
      pay(_visitor, { email }, nth) {
        const charge = { id: `ch_${nth}`, email, total: 10 * nth };
        return paid(charge.total, async () => taken(await walk.visitor().post("/webhooks/payment", charge)));
      },
    }),
} satisfies App;
