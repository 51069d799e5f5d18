import * as z from "zod/mini";
import { type EndpointName, endpointNames, endpoints, errorResponse } from "./endpoints.js";
import { MAX_BODY_BYTES } from "./http.js";

/** Made from the schemas that validate requests. */
export function openApiDocument(url: string, requireKeyFor: readonly EndpointName[]) {
  const operations = endpointNames.map((name) => {
    const { path, method } = endpoints[name];
    return [path, { [method.toLowerCase()]: operation(name, requireKeyFor.includes(name)) }];
  });
  const schemas = endpointNames.flatMap((name) => {
    const { request, response } = endpoints[name];
    const ofResponse = [[`${capital(name)}Response`, schema(response, "output")]];
    return request ? [[`${capital(name)}Request`, schema(request, "input")], ...ofResponse] : ofResponse;
  });
  return {
    openapi: "3.1.0",
    info: {
      title: "Affiliate Tracking API",
      version: "1",
      description:
        "Records affiliate clicks, registrations and payments. Served by a sandbox for development and tests. If " +
        "the specification leaves something open, the inspector page says what the sandbox decided.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url, description: "This sandbox" }],
    paths: Object.fromEntries(operations),
    components: {
      schemas: { ...Object.fromEntries(schemas), Error: schema(errorResponse, "output") },
      responses: { Error: { description: "What was wrong (§7)", ...json("Error") } },
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "The program owner's API key (§5)" },
      },
    },
  };
}

function operation(name: EndpointName, keyRequired: boolean) {
  const { summary, request, method } = endpoints[name];
  const error = { $ref: "#/components/responses/Error" };
  return {
    operationId: name,
    summary,
    security: keyRequired ? [{ apiKey: [] }] : [{}, { apiKey: [] }],
    parameters: [request ? idempotencyKey : sessionIdInPath],
    ...(request && {
      requestBody: {
        required: true,
        description: `Up to ${MAX_BODY_BYTES} bytes of JSON; fields that are not listed are refused.`,
        ...json(`${capital(name)}Request`),
      },
    }),
    responses: {
      [method === "POST" ? "201" : "200"]: { description: "Success", ...json(`${capital(name)}Response`) },
      ...(name === "click" && { "200": { description: "Known already", ...json("ClickResponse") } }),
      "400": error,
      ...(keyRequired && { "401": error }),
      ...(request && { "413": error, "415": error, "422": error }),
    },
  };
}

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  description: "The same key is answered with the same success, and nothing is recorded anew.",
  schema: { type: "string" },
};

const sessionIdInPath = {
  name: "sessionId",
  in: "path",
  required: true,
  description: "Client-supplied unique id of the visitor's session",
  schema: { type: "string" },
};

function schema(type: z.ZodMiniType, io: "input" | "output") {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(type, { io });
  return jsonSchema;
}

function json(component: string) {
  return { content: { "application/json": { schema: { $ref: `#/components/schemas/${component}` } } } };
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
