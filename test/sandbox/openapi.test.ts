import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, test } from "vitest";
import { endpointNames } from "../../src/sandbox/endpoints.js";
import { openApiDocument } from "../../src/sandbox/openapi.js";
import { startSandbox } from "./helpers.js";

test.each([[[]], [["status"]], [endpointNames]] as const)(
  "the document passes Redocly's strict rules, with keys for %j",
  async (required) => {
    // The one rule that a sandbox cannot keep: its server is localhost.
    const config = await createConfig({
      extends: ["recommended-strict"],
      rules: { "no-server-example.com": "off" },
    });
    const source = JSON.stringify(openApiDocument("http://127.0.0.1:4010", required), null, 2);
    const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
    expect(
      problems.map(({ ruleId, message, location }) => ({ ruleId, message, at: location[0]?.pointer })),
    ).toEqual([]);
  },
);

test("the OpenAPI document is served, and says what the validation says", async () => {
  const sandbox = await startSandbox({ requireKeyFor: ["paymentLead"] });
  const res = await fetch(`${sandbox.url}/openapi.json`);
  expect(res.headers.get("content-type")).toMatch("application/json");
  const document = (await res.json()) as ReturnType<typeof openApiDocument>;
  // The page links to it, beside itself.
  expect(await (await fetch(`${sandbox.inspectorUrl}/openapi.json`)).json()).toEqual(document);
  expect(document).toMatchObject({
    openapi: "3.1.0",
    servers: [{ url: sandbox.url }],
    paths: {
      "/api/v1/tracking/click": { post: { operationId: "click" } },
      "/api/v1/tracking/registration": { post: { operationId: "registration" } },
      "/api/v1/tracking/lead/registration": { post: { operationId: "registrationLead" } },
      "/api/v1/tracking/lead/payment": { post: { operationId: "paymentLead", security: [{ apiKey: [] }] } },
      "/api/v1/tracking/status/{sessionId}": { get: { operationId: "status" } },
    },
  });
  expect(document.components.schemas).toMatchObject({
    PaymentLeadRequest: {
      type: "object",
      properties: {
        clientId: { type: "integer" },
        leadType: { const: "PAYMENT" },
        leadValue: { exclusiveMinimum: 0 },
      },
      required: ["clientId", "leadType", "customerEmail", "leadValue"],
      additionalProperties: false,
    },
  });
});
