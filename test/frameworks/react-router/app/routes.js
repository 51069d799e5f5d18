import { index, route } from "@react-router/dev/routes";

export default [index("home.jsx"), route("signup", "signup.js"), route("checkout", "checkout.js")];
