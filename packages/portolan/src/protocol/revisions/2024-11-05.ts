import { rpcCodes } from "../../jsonrpc/message.ts";
import { object, oneOf, optional, record, string } from "../../schema/shape.ts";
import { isReservedCode, protocolCodes } from "../errors.ts";
import type { FirstRevision } from "../revision.ts";
import { logLevels } from "../types/notifications.ts";

const none = object({});
const listParams = object({ cursor: optional(string) });
const uriParams = object({ uri: string });

/** The first revision: a handshake, then requests in both directions. */
export const first: FirstRevision = {
  version: "2024-11-05",
  era: "stateful",
  questions: "requests",
  logsUnasked: true,
  changes: "connection",
  batches: false,
  unreadableId: "null",
  http: { primes: false, namesVersion: false },
  // Apps and skills are used with stateful revisions in practice; tasks must not be.
  refusedExtensions: ["io.modelcontextprotocol/tasks"],
  structured: "none",
  errorCodes: { "resource-not-found": protocolCodes.resourceNotFound, "missing-capability": rpcCodes.invalidParams },
  // This revision defines no codes of its own.
  allowedCode: (code) => (isReservedCode(code) ? rpcCodes.internalError : code),
  envelope: (result) => result,
  readPeer: () => {
    throw new Error("expected a handshake");
  },
  requests: {
    initialize: {
      params: object({
        protocolVersion: string,
        capabilities: record(),
        clientInfo: object({ name: string, version: string }),
      }),
      isImmediate: true,
      isUncancellable: true,
    },
    ping: { params: none, isImmediate: true },
    "tools/list": { params: listParams, capability: "tools" },
    "tools/call": {
      params: object({ name: string, arguments: optional(record()) }),
      capability: "tools",
      runsHandler: true,
    },
    "resources/list": { params: listParams, capability: "resources" },
    "resources/templates/list": { params: listParams, capability: "resources" },
    "resources/read": { params: uriParams, capability: "resources", runsHandler: true },
    "resources/subscribe": { params: uriParams, capability: "resources.subscribe" },
    "resources/unsubscribe": { params: uriParams, capability: "resources.subscribe" },
    "prompts/list": { params: listParams, capability: "prompts" },
    "prompts/get": {
      params: object({ name: string, arguments: optional(record(string)) }),
      capability: "prompts",
      runsHandler: true,
    },
    "completion/complete": {
      capability: "completions",
      params: object({
        ref: object({ type: oneOf("ref/prompt", "ref/resource"), name: optional(string), uri: optional(string) }),
        argument: object({ name: string, value: string }),
      }),
    },
    "logging/setLevel": { params: object({ level: oneOf(...logLevels) }), capability: "logging" },
  },
  clientNotifications: {
    "notifications/initialized": true,
    "notifications/cancelled": true,
    "notifications/progress": true,
    "notifications/roots/list_changed": true,
  },
  serverNotifications: {
    "notifications/cancelled": true,
    "notifications/progress": true,
    "notifications/message": true,
    "notifications/tools/list_changed": true,
    "notifications/prompts/list_changed": true,
    "notifications/resources/list_changed": true,
    "notifications/resources/updated": true,
  },
  asks: { roots: true, sampling: true },
};
