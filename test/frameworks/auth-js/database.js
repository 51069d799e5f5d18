import { randomUUID } from "node:crypto";

const users = new Map();
const tokens = new Map();

/** What Auth.js needs of an adapter to sign up by e-mail. */
export const database = {
  async createUser(fields) {
    const user = { ...fields, id: randomUUID() };
    users.set(user.id, user);
    return user;
  },
  getUser: async (id) => users.get(id) ?? null,
  getUserByEmail: async (email) => [...users.values()].find((user) => user.email === email) ?? null,
  getUserByAccount: async () => null,
  async updateUser(fields) {
    const user = { ...users.get(fields.id), ...fields };
    users.set(user.id, user);
    return user;
  },
  linkAccount: async (account) => account,
  async createVerificationToken(token) {
    tokens.set(token.token, token);
    return token;
  },
  async useVerificationToken({ token }) {
    const known = tokens.get(token) ?? null;
    tokens.delete(token);
    return known;
  },
};
