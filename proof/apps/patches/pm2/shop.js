const { Router } = require("express");
const { tracker } = require("../tracker");

const router = Router();

router.post(
  "/signup",
  tracker.onRegistration((req, res) => {
    const registration = { email: req.body.email };
    res.status(201).json(registration);
    return registration;
  }),
);

router.post(
  "/paid",
  tracker.onPayment((req, res) => {
    const payment = { paymentId: req.body.id, customerEmail: req.body.email, leadValue: req.body.total };
    res.json({ ok: true });
    return payment;
  }),
);

module.exports = router;
