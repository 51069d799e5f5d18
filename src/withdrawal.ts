import { paymentEventId } from "./conversion/event-from.js";
import type { Outbox } from "./outbox/outbox.js";
import { OutboxError } from "./shared/errors.js";
import type { Affiliate } from "./tracker.js";

export function createWithdrawal(parts: {
  clientId: number;
  outbox: Outbox;
}): Pick<Affiliate, "cancelPayment" | "personalData" | "erase"> {
  const { clientId, outbox } = parts;

  function refusal(member: string): OutboxError {
    return new OutboxError(
      "ERR_AFFILIATE_OUTBOX_UNABLE",
      `${member}: the ${outbox.name} outbox has no such method`,
    );
  }

  return {
    async cancelPayment(paymentId) {
      const id = paymentEventId(clientId, paymentId);
      if (!outbox.cancel) throw refusal("cancelPayment");
      return outbox.cancel(id);
    },
    async personalData(person) {
      if (!outbox.personalData) throw refusal("personalData");
      return outbox.personalData(person);
    },
    async erase(person) {
      if (!outbox.erase) throw refusal("erase");
      return outbox.erase(person);
    },
  };
}
