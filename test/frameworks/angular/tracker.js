// That of the bundle.
export { tracker } from "./dist/shop/server/server.mjs";
