import { type Person, taken, type Visitor } from "./walk.js";

export async function signUpByEmail(visitor: Visitor, { email, name, password }: Person): Promise<void> {
  taken(await visitor.post("/api/auth/sign-up/email", { email, name, password }));
}
