import { randomUUID } from "node:crypto";
import { ApolloServer } from "@apollo/server";
import { expressMiddleware } from "@as-integrations/express5";
import express from "express";
import { GraphQLError } from "graphql";
import { tracker } from "./tracker.js";

const typeDefs = /* GraphQL */ `
  type User {
    id: ID!
    email: String!
  }
  type Order {
    id: ID!
    total: Float!
  }
  type Query {
    isOpen: Boolean!
  }
  type Mutation {
    signUp(email: String!): User!
    checkout(id: ID!, email: String!): Order!
  }
`;

const users = {
  create: async ({ email }) => {
    if (!email) throw new GraphQLError("no address");
    return { id: randomUUID(), email };
  },
};
const orders = { complete: async ({ id, email }) => ({ id, email, total: 19.9 }) };

const app = express();
app.get("/", tracker.onClick(), (_req, res) => {
  res.send("Welcome");
});

const resolvers = {
  Mutation: {
    signUp: async (_parent, input, { affiliate }) => {
      const user = await users.create(input);
      await affiliate.trackRegistration({ email: user.email, customerId: user.id });
      return user;
    },
    checkout: async (_parent, input, { affiliate }) => {
      const order = await orders.complete(input);
      await affiliate.trackPayment({
        paymentId: order.id,
        customerEmail: order.email,
        leadValue: order.total,
      });
      return order;
    },
  },
};

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
