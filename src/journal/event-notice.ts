import type { OutboxEvent } from "../conversion/events.js";
import { emailOf } from "../conversion/kinds.js";
import { maskEmail } from "../shared/emails.js";
import type { EventNotice } from "./notices.js";

/** What listeners get about an event. A notice is its own. */
export function noticeOf(event: OutboxEvent | EventNotice): EventNotice {
  if (!("data" in event)) return event;
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
