import type * as z from "zod/mini";
import type { Clock } from "../shared/clock.js";
import { ArgumentError, errorCodeOf, errorFrom, NoAnswerError, TrackingApiError } from "../shared/errors.js";
import { shown } from "../shared/printable.js";
import {
  ANSWERS,
  type ClickAnswer,
  isYes,
  type LeadAnswer,
  type PaymentAnswer,
  type RegistrationAnswer,
  refusalOf,
  type TrackingStatus,
} from "./answers.js";
import { isUnsendable } from "./attempt.js";
import {
  type Call,
  type ClickRequest,
  callsFor,
  type PaymentLeadRequest,
  type RegistrationLeadRequest,
  type RegistrationRequest,
} from "./calls.js";
import type { Transport } from "./transport.js";

/** Options of a single call. @inline */
interface CallOptions {
  /** Sent as `Idempotency-Key`: a service that knows it finds repetitions by it. Default: none. */
  readonly idempotencyKey?: string;
}

/**
 * The five endpoints of the specification (§4). Each call makes one attempt. It rejects with
 *
 * - `TrackingApiError` if the service refuses,
 * - `NoAnswerError` if no answer comes within `delivery.timeoutMs`,
 * - `ArgumentError`, before anything is sent, if an argument cannot be sent as it is.
 */
export interface TrackingClient {
  /** `POST /api/v1/tracking/click` (§4.1): a click. */
  click(click: ClickRequest, options?: CallOptions): Promise<ClickAnswer>;
  /** `POST /api/v1/tracking/registration` (§4.2): a registration of a visitor with a click id. */
  registration(registration: RegistrationRequest, options?: CallOptions): Promise<RegistrationAnswer>;
  /** `POST /api/v1/tracking/lead/registration` (§4.3): a registration with a session id only. */
  registrationLead(lead: RegistrationLeadRequest, options?: CallOptions): Promise<LeadAnswer>;
  /** `POST /api/v1/tracking/lead/payment` (§4.4): a payment. */
  paymentLead(lead: PaymentLeadRequest, options?: CallOptions): Promise<PaymentAnswer>;
  /** `GET /api/v1/tracking/status/{sessionId}` (§4.5): whether a session is linked to a click. */
  status(sessionId: string): Promise<TrackingStatus>;
}

/** `hide` removes secrets from the service's words. */
export function createClient(
  transport: Pick<Transport, "send">,
  { clientId, clock, hide }: { clientId: number; clock: Clock; hide: (text: string) => string },
): TrackingClient {
  const calls = callsFor(clientId);

  async function ask(make: () => Call): Promise<unknown> {
    let call: Call;
    try {
      call = make();
    } catch (error) {
      throw error instanceof ArgumentError ? error : unusable(errorFrom(error));
    }
    const attempt = await transport.send(call, { isOfHost: true });
    if (attempt.type === "no-answer") {
      const { requestSent, error } = attempt;
      if (isUnsendable(attempt)) throw unusable(error);
      throw new NoAnswerError(
        `${call.method} ${call.path}: no answer, and the request ${requestSent ? "may have arrived" : "was not sent"}: ${hide(error.message || errorCodeOf(error))}`,
        requestSent,
        error,
      );
    }
    if (!isYes(attempt)) throw new TrackingApiError(refusalOf(attempt, { now: clock.now(), hide }));
    // A 2xx counts with any body. One that is no object is read as empty.
    return attempt.body !== null && typeof attempt.body === "object" && !Array.isArray(attempt.body)
      ? attempt.body
      : {};
  }

  async function post<T>(make: () => Call, answer: z.ZodMiniType<T>, options: CallOptions = {}): Promise<T> {
    return answer.parse(await ask(() => ({ ...make(), ...options })));
  }

  return {
    click: (click, options) => post(() => calls.click(click), ANSWERS.click, options),
    registration: (registration, options) =>
      post(() => calls.registration(registration), ANSWERS.registration, options),
    registrationLead: (lead, options) =>
      post(() => calls.registrationLead(lead), ANSWERS.registrationLead, options),
    paymentLead: (lead, options) =>
      post(() => calls.paymentLead(withNumber(lead)), ANSWERS.paymentLead, options),
    async status(sessionId) {
      const answer = ANSWERS.status.safeParse(await ask(() => calls.status(sessionId)));
      if (answer.success) return answer.data;
      throw new TrackingApiError({
        status: 200,
        error: "Unreadable answer",
        message: "the service answered the status request with something that is no status",
      });
    },
  };
}

function unusable({ message }: Error): ArgumentError {
  return new ArgumentError(`client: an argument cannot be sent: ${message}`);
}

/** JSON would have `null` for `NaN`. */
function withNumber(lead: PaymentLeadRequest): PaymentLeadRequest {
  if (Number.isFinite(lead.leadValue)) return lead;
  throw new ArgumentError(`client.paymentLead: \`leadValue\` must be a number, got ${shown(lead.leadValue)}`);
}
