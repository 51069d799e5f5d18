import { randomUUID } from "node:crypto";
import { GraphQLError } from "graphql";
import { paymentOf } from "./payment.js";

export const typeDefs = /* GraphQL */ `
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

export const resolvers = {
  Mutation: {
    signUp: async (_parent, input, { affiliate }) => {
      const user = await users.create(input);
      await affiliate.trackRegistration({ email: user.email, customerId: user.id });
      return user;
    },
    checkout: async (_parent, input, { affiliate }) => {
      const order = await orders.complete(input);
      await affiliate.trackPayment(paymentOf(order));
      return order;
    },
  },
};
