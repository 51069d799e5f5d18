import { emailOf, type OutboxEvent } from "../events.js";
import { maskEmail } from "../shared/emails.js";
import type { EventNotice } from "./notices.js";

/** What listeners are told of an event. */
export function noticeOf(event: OutboxEvent): EventNotice {
  const { id, kind, data } = event;
  const email = emailOf(event);
  return {
    id,
    kind,
    ...(data.clickId !== undefined && { clickId: data.clickId }),
    ...(data.sessionId !== undefined && { sessionId: data.sessionId }),
    ...(email !== undefined && { email: maskEmail(email) }),
  };
}
