import { randomUUID } from "node:crypto";
import express from "express";
import session from "express-session";
import passport from "passport";
import { Strategy } from "passport-local";
import { tracker } from "./tracker.js";

const users = new Map();
const app = express();

app.use(session({ secret: process.env.SESSION_SECRET, resave: false, saveUninitialized: false }));
app.use(tracker); // after the session, before Passport: a login gives the visitor a new session
app.use(express.json());
app.use(passport.session());

passport.serializeUser((user, done) => done(null, user.id));
passport.deserializeUser((id, done) => done(null, users.get(id) ?? false));

passport.use(
  new Strategy({ usernameField: "email" }, (email, password, done) => {
    const known = [...users.values()].find((user) => user.email === email);
    if (known) return done(null, known.password === password && known, { isNew: false });
    const user = { id: randomUUID(), email, password };
    users.set(user.id, user);
    done(null, user, { isNew: true });
  }),
);

// #region login
app.post(
  "/login",
  passport.authenticate("local"),
  tracker.onRegistration((req, res) => {
    const registration = { email: req.user.email, customerId: req.user.id };
    res.json({ id: req.user.id });
    return req.authInfo.isNew ? registration : undefined;
  }),
);
// #endregion

app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

app.get("/basket", (req, res) => {
  req.session.basket = ["shoes"];
  res.json({ sessionId: req.affiliate.sessionId });
});

app.post(
  "/checkout",
  tracker.onPayment((req, res) => {
    if (!req.user) return void res.sendStatus(401);
    const payment = { paymentId: req.body.id, customerEmail: req.user.email, leadValue: 19.9 };
    res.sendStatus(204);
    return payment;
  }),
);

export const server = app.listen(process.env.PORT ?? 3000);
