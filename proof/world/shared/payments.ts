/** The nth payment, of a visitor of its own. */
export const paymentOf = (nth: number) =>
  [
    { paymentId: nth, customerEmail: "ann@shop.example", leadValue: 1 },
    { sessionId: `payer-${nth}` },
  ] as const;
