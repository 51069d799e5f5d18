import { email, LONGEST_TEXT, optionalHostId, text } from "./fields.js";
import { type HostId, type KindRow, UNBOUNDED } from "./kind-row.js";
import type { Attribution } from "./visitor-ids.js";

/** A sign-up that happened (§2.3). Invalid input gives the receipt `rejected`. */
export interface Registration {
  /** The customer's e-mail address, at most 320 characters. */
  readonly email: string;
  /**
   * The host's own id of the user, at most 256 characters; also an ObjectId, UUID or Long. A second report with it is a duplicate.
   * Default: the e-mail address is the key.
   */
  readonly customerId?: HostId | null | undefined;
  /** The customer's name: its first 256 characters are kept. The service does not need it. */
  readonly customerName?: string | null | undefined;
}

export type RegistrationData = Attribution & {
  readonly email: string;
  readonly customerId?: string | undefined;
  readonly customerName?: string | undefined;
};

export const registration = {
  endpoints: ["registration", "lead/registration"],
  ifMaybeTaken: "retry",
  needsVisitorId: "always",
  remembered: { ...UNBOUNDED, shareOfSpace: 0.3 },
  emailField: "email",
  fields: { email, customerId: optionalHostId, customerName: text(LONGEST_TEXT) },
  key({ customerId, email }, _, pseudonym) {
    if (customerId === undefined) return `registration by ${pseudonym(inLowerCase(email))}`;
    // Some shops' id of a customer is the address. Others' outlives a change of the API key.
    return `registration of ${customerId.includes("@") ? pseudonym(customerId) : customerId}`;
  },
} as const satisfies KindRow<RegistrationData>;

// ASCII letters alone: `toLowerCase` turns the Kelvin sign into a k, and so two customers into one.
function inLowerCase(email: string): string {
  return email.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
