import type { Gateway, Told } from "express-affiliate/gateways";
import * as gateways from "express-affiliate/gateways";
import { expect, it } from "vitest";
import { bodies, everyGateway, withField } from "../gateways/bodies.js";
import { textOf } from "../helpers/docs/pages.js";

const namesIn = (text = "") =>
  [...text.matchAll(/`([A-Z_.]{4,}|[a-z]+[._][a-z_.]+)`/g)].map(([, each = ""]) => each);

/** The events in a table whose rows begin with the gateway's name, and with the events themselves. */
const listed = new Map(
  [...textOf("docs/payments.md").matchAll(/^\| `(\w+)` \| (.+?) \|$/gm)].map(([, name = "", events]) => [
    name,
    namesIn(events),
  ]),
);
function documented(name: string): string[] {
  const file = name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`);
  const rows = [...textOf(`src/gateways/${file}.ts`).matchAll(/^ \* \| ([^|]+) \|(?! nothing)/gm)];
  return rows.flatMap(([, events]) => namesIn(events)).filter((event) => !event.startsWith("gateway."));
}

/** Of events of all gateways: of each the status that lets it be read, and nothing else. */
const bare = {
  ...{ success: "true", pspReference: "1", meta: {} },
  data: {
    ...{ status: "approved", action: "refund", attributes: { status: "paid" } },
    object: { captured: true, refund: { status: "COMPLETED", payment_id: 1 } },
  },
};

/** Whether the module reads an event of that name: without its fields, it is refused. */
function isRead(gateway: Gateway, event: string): boolean {
  const field = gateway === "braintree" ? "kind" : bodies[gateway].fields.type;
  const manual = (given: unknown): Told => gateways.adyen(given, { capture: "manual" });
  return (gateway === "adyen" ? [bodies.adyen.read, manual] : [bodies[gateway].read]).some((read) => {
    try {
      return read(withField(bare, field, event)) !== undefined;
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_AFFILIATE_GATEWAY" });
      return true;
    }
  });
}

it("the table of docs/payments.md has each gateway, and just the events that the module reads", () => {
  expect([...listed.keys()]).toEqual(everyGateway);
  expect(Object.keys(gateways).sort()).toEqual(
    [...everyGateway, "majorUnits", "metadata", "refunded"].sort(),
  );
  const all = everyGateway.flatMap((name) => [...(listed.get(name) ?? []), ...documented(name)]);
  expect(all.length).toBeGreaterThan(60);
  for (const name of everyGateway.filter((each) => each !== "mollie")) {
    expect(documented(name).sort(), name).toEqual(listed.get(name)?.sort());
    expect([...new Set(all)].filter((event) => isRead(name, event)).sort(), name).toEqual(listed.get(name));
  }
});
