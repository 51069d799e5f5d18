import { ApolloServer } from "@apollo/server";
import { expressMiddleware } from "@as-integrations/express5";
import express from "express";
import { resolvers, typeDefs } from "./graphql-schema.js";
import { tracker } from "./tracker.js";

const app = express();
app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

// #region server
const apollo = new ApolloServer({ typeDefs, resolvers });
await apollo.start();
const context = async ({ req }) => ({ affiliate: req.affiliate });
app.use("/graphql", tracker, express.json(), expressMiddleware(apollo, { context }));
// #endregion

export const server = app.listen(process.env.PORT ?? 3000);

export async function close() {
  server.close();
  await apollo.stop();
}
