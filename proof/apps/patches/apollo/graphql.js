const { ApolloServer } = require("@apollo/server");
const { expressMiddleware } = require("@as-integrations/express4");

const typeDefs = `#graphql
  type Query { orders: Int }
  type Mutation { signUp(email: String!): ID, pay(order: ID!, email: String!): ID }`;

const resolvers = {
  Mutation: {
    signUp: async (_parent, { email }, { affiliate }) => {
      await affiliate.trackRegistration({ email, customerId: email });
      return email;
    },
    pay: async (_parent, { order, email }, { affiliate }) => {
      await affiliate.trackPayment({ paymentId: order, customerEmail: email, leadValue: 19.9 });
      return order;
    },
  },
};

const apollo = new ApolloServer({ typeDefs, resolvers });
const context = async ({ req }) => ({ affiliate: req.affiliate });
exports.started = apollo.start().then(() => expressMiddleware(apollo, { context }));
