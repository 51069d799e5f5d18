import { affiliate, type Logger, memoryOutbox } from "express-affiliate";
import { browser } from "../../test/frameworks/kit/browser.js";
import { secondsUntil } from "../shared/seconds-until.js";
import { answer, startService } from "../shared/service.js";
import type { StrangersRequest } from "./strangers.js";

const A_PERSON = { "user-agent": "Mozilla/5.0 Firefox/146.0", accept: "text/html,*/*;q=0.8" };
const MOST_WAITING = 500;
const MOST_DEAD = 100;

/** A tracker with a small outbox, whose service refuses strangers' events or fails at them. */
export async function startFlooded(apiKey: string, logger: Logger) {
  const paid = new Map<string, number>();
  const service = await startService((res, _take, { body, isPayment }) => {
    const { affiliateReference = "", clickId = "", customerEmail = "" } = body;
    if (affiliateReference.startsWith("NOPE") || clickId.startsWith("forged"))
      return answer(res, JSON.stringify(body).length % 2 === 0 ? 404 : 500);
    if (isPayment) paid.set(customerEmail, (paid.get(customerEmail) ?? 0) + 1);
    answer(res);
  });
  const outbox = memoryOutbox({ maxEvents: MOST_WAITING, maxDeadLetters: MOST_DEAD });
  const tracker = affiliate({ baseUrl: service.url, clientId: 1, apiKey, outbox, logger });

  return {
    tracker,
    /** What is wrong after so many requests of a flood: a customer has not paid once, or too much is kept. */
    async problems(customers: readonly string[], requests: number): Promise<string[]> {
      await secondsUntil(() => customers.every((each) => paid.has(each)), 300);
      const { queued, dead, dropped } = tracker.stats();
      const kept = dead.rejected + dead.unconfirmed + dead.expired;
      const found = customers
        .filter((each) => paid.get(each) !== 1)
        .map((each) => `in the flood ${each} has paid ${paid.get(each) ?? 0} times`);
      if (customers.length === 0) found.push("no customer came in the flood");
      if (queued > MOST_WAITING || kept > MOST_DEAD)
        found.push(`${queued} events and ${kept} letters are kept`);
      if (dropped.full === 0 && requests > 4 * MOST_WAITING) found.push("the flood did not fill the outbox");
      return found;
    },
  };
}

/** A page view or a sign-up of a crawler or forger: a new reference or click id each time. */
export function floodRequest(random: () => number): StrangersRequest {
  const nth = Math.floor(random() * 1e9);
  if (random() < 0.7) {
    const path = `/flooded/?ref=NOPE${nth}`;
    return { to: "shop", method: "GET", path, headers: A_PERSON, body: undefined };
  }
  return {
    to: "shop",
    method: "POST",
    path: "/flooded/registration",
    headers: { ...A_PERSON, cookie: `svc_click_id=forged${nth}`, "content-type": "application/json" },
    body: JSON.stringify({ email: `stranger-${nth}@shop.example` }),
  };
}

/** A customer who follows an affiliate's link, signs up and pays. Resolves to the address. */
export async function visit(shop: string, nth: number): Promise<string> {
  const email = `customer-${nth}@shop.example`;
  const customer = browser(shop);
  await customer.open("/flooded/?ref=ALICE");
  const post = async (path: string, happened: object) => {
    const { status } = await customer.post(`/flooded/${path}`, happened);
    if (status !== 200) throw new Error(`in the flood a customer's ${path} was answered ${status}`);
  };
  await post("registration", { email });
  await post("payment", { paymentId: nth, customerEmail: email, leadValue: 1 });
  return email;
}
