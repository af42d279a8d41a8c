import { type JsonObject, rpcCodes } from "../../jsonrpc/message.ts";
import { isReservedCode, missingCapability, protocolCodes } from "../errors.ts";
import type { RevisionChanges } from "../revision.ts";

/** Adds icons, URL elicitation, more fields in forms, sampling with tools, and errors without an id. */
export const iconsAndUrls: RevisionChanges = {
  version: "2025-11-25",
  unreadableId: "omit",
  http: { primes: true, namesVersion: true },
  asks: { "elicitation.url": true, "sampling.tools": true, "sampling.context": true },
  serverNotifications: { "notifications/elicitation/complete": true, "notifications/tasks/status": true },
  // spec 2025-11-25: urlElicitationRequired is the one code of the reserved range that this revision defines.
  allowedCode: (code) =>
    code !== protocolCodes.urlElicitationRequired && isReservedCode(code) ? rpcCodes.internalError : code,
  adds: {
    implementation: ["description", "icons", "websiteUrl"],
    tool: ["icons", "execution"],
    resource: ["icons"],
    prompt: ["icons"],
    serverCapabilities: ["tasks"],
    elicitation: ["mode", "elicitationId"],
    sampling: ["tools", "toolChoice", "task"],
    samplingMessage: ["_meta"],
    clientCapabilities: ["tasks"],
    clientSampling: ["tools", "context"],
    clientElicitation: ["form", "url"],
    call: ["task"],
  },
  older: { elicitationField: plainField, samplingMessages: oneBlockPerMessage },
};

/** Older forms have enums with `enumNames`, and defaults for booleans only. */
function plainField(field: JsonObject): JsonObject {
  if (field["type"] === "array") {
    throw missingCapability({ elicitation: { form: {} } }, "A form with a choice of several values");
  }
  const { default: initial, oneOf, ...rest } = field;
  const plain = Array.isArray(oneOf)
    ? { ...rest, enum: oneOf.map((option) => option.const), enumNames: oneOf.map((option) => option.title) }
    : rest;
  return field["type"] === "boolean" && initial !== undefined ? { ...plain, default: initial } : plain;
}

function oneBlockPerMessage(messages: JsonObject[]): JsonObject[] {
  return messages.flatMap((message) => {
    const { content } = message;
    return Array.isArray(content) ? content.map((block: unknown) => ({ ...message, content: block })) : [message];
  });
}
