import express from "express";
import { createSchema, createYoga } from "graphql-yoga";
import { resolvers, typeDefs } from "./graphql-schema.js";
import { tracker } from "./tracker.js";

const app = express();
app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

// #region server
const yoga = createYoga({
  schema: createSchema({ typeDefs, resolvers }),
  context: ({ req }) => ({ affiliate: req.affiliate }),
});
app.use(yoga.graphqlEndpoint, tracker, yoga);
// #endregion

export const server = app.listen(process.env.PORT ?? 3000);
