export const paymentOf = ({ id, email, total }) => ({
  paymentId: id,
  customerEmail: email,
  leadValue: total,
});
