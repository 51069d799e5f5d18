const { defineMiddlewares } = require("@medusajs/framework/http");
const { tracker } = require("../tracker.js");

/** Keeps who sent the visitor with the cart or the customer: a subscriber has no request. */
function keepAffiliate(req, _res, next) {
  req.validatedBody.metadata = { ...req.validatedBody.metadata, affiliate: req.affiliate.snapshot() };
  next();
}

exports.default = defineMiddlewares({
  routes: [
    { matcher: "/*", middlewares: [tracker, tracker.onClick()] },
    { matcher: "/store/carts", method: "POST", middlewares: [keepAffiliate] },
    { matcher: "/store/customers", method: "POST", middlewares: [keepAffiliate] },
  ],
});
