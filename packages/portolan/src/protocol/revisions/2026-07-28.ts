import { type JsonObject, rpcCodes } from "../../jsonrpc/message.ts";
import { array, boolean, object, optional, record, string } from "../../schema/shape.ts";
import { isReservedCode, missingMeta, protocolCodes } from "../errors.ts";
import type { MethodRow, Peer, Revision, RevisionChanges, Self } from "../revision.ts";
import { metaKeys } from "../revision.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../types/index.ts";
import { logLevels } from "../types/notifications.ts";

const listParams = object({ cursor: optional(string) });
const answers = { inputResponses: optional(record(record())), requestState: optional(string) };

/** Stateless: each request describes itself, results carry questions, and changes need a subscription. */
export const stateless: RevisionChanges = {
  version: "2026-07-28",
  era: "stateless",
  questions: "in-result",
  logsUnasked: false,
  changes: "listen",
  refusedExtensions: [],
  structured: "any",
  errorCodes: { "resource-not-found": rpcCodes.invalidParams, "missing-capability": protocolCodes.missingCapability },
  allowedCode,
  envelope,
  envelopeText,
  readPeer,
  requests: {
    initialize: "server/discover",
    ping: "server/discover",
    "logging/setLevel": "the logLevel of each request",
    "resources/subscribe": "subscriptions/listen",
    "resources/unsubscribe": "subscriptions/listen",
    "server/discover": { params: object({}), cacheable: true, isImmediate: true },
    "subscriptions/listen": {
      openEnded: true,
      params: object({
        notifications: object({
          toolsListChanged: optional(boolean),
          promptsListChanged: optional(boolean),
          resourcesListChanged: optional(boolean),
          resourceSubscriptions: optional(array(string)),
        }),
      }),
    },
    "tools/list": { params: listParams, capability: "tools", cacheable: true },
    "resources/list": { params: listParams, capability: "resources", cacheable: true },
    "resources/templates/list": { params: listParams, capability: "resources", cacheable: true },
    "prompts/list": { params: listParams, capability: "prompts", cacheable: true },
    "tools/call": {
      params: object({ name: string, arguments: optional(record()), ...answers }),
      capability: "tools",
      runsHandler: true,
      nameIn: "name",
    },
    "resources/read": {
      params: object({ uri: string, ...answers }),
      capability: "resources",
      runsHandler: true,
      cacheable: true,
      nameIn: "uri",
    },
    "prompts/get": {
      params: object({ name: string, arguments: optional(record(string)), ...answers }),
      capability: "prompts",
      runsHandler: true,
      nameIn: "name",
    },
  },
  clientNotifications: {
    "notifications/initialized": false,
    "notifications/roots/list_changed": false,
    "notifications/progress": false,
  },
  serverNotifications: {
    "notifications/elicitation/complete": false,
    "notifications/tasks/status": false,
    "notifications/subscriptions/acknowledged": true,
  },
  adds: { result: ["resultType", "ttlMs", "cacheScope"], call: ["inputResponses", "requestState"] },
  removes: {
    tool: ["execution"],
    serverCapabilities: ["tasks"],
    elicitation: ["elicitationId"],
    sampling: ["task"],
    clientCapabilities: ["tasks"],
    clientRoots: ["listChanged"],
    call: ["task"],
    answer: ["_meta"],
  },
};

/** The `_meta` of most results. Cached for the server that answered last, because every result has it. */
let brief: { readonly info: Implementation; readonly meta: JsonObject; readonly text: string } | undefined;

function envelope(result: JsonObject, row: MethodRow | undefined, { info }: Self, method: string): JsonObject {
  const { _meta: own } = result;
  const identity = method === "server/discover" ? { [metaKeys.serverInfo]: info } : briefly(info).meta;
  const _meta = own === undefined ? identity : { ...identity, ...(own as JsonObject) };
  if (row?.cacheable) return { resultType: "complete", ttlMs: 0, cacheScope: "private", ...result, _meta };
  return { resultType: "complete", ...result, _meta };
}

/** Returns the members as JSON text, if the result has none of them itself. */
function envelopeText(
  result: JsonObject,
  row: MethodRow | undefined,
  { info }: Self,
  method: string,
): string | undefined {
  const isPlain = !("_meta" in result || "resultType" in result || row?.cacheable) && method !== "server/discover";
  return isPlain ? briefly(info).text : undefined;
}

function briefly(info: Implementation): NonNullable<typeof brief> {
  if (brief?.info !== info) {
    const meta = { [metaKeys.serverInfo]: { name: info.name, version: info.version } };
    brief = { info, meta, text: `"resultType":"complete","_meta":${JSON.stringify(meta)}` };
  }
  return brief;
}

// spec 2026-07-28: codes of the reserved range that are retired or undefined must not be sent.
function allowedCode(code: number): number {
  if (code === protocolCodes.resourceNotFound) return rpcCodes.invalidParams;
  return isReservedCode(code) && code < protocolCodes.unsupportedVersion ? rpcCodes.internalError : code;
}

function readPeer(meta: JsonObject, revision: Revision): Peer {
  const capabilities = meta[metaKeys.clientCapabilities];
  const info = meta[metaKeys.clientInfo];
  const logLevel = meta[metaKeys.logLevel];
  if (typeof capabilities !== "object" || capabilities === null || Array.isArray(capabilities)) {
    throw missingMeta(
      `_meta["${metaKeys.clientCapabilities}"]: expected an object; every request declares the capabilities of its client`,
    );
  }
  if (logLevel !== undefined && !logLevels.includes(logLevel as LogLevel)) {
    throw missingMeta(`_meta["${metaKeys.logLevel}"]: expected one of ${logLevels.join(", ")}`);
  }
  // Hot path: one plain object for each stateless request.
  return {
    revision,
    capabilities: capabilities as ClientCapabilities,
    info: typeof info === "object" && info !== null ? (info as Implementation) : undefined,
    logLevel: logLevel as LogLevel | undefined,
  };
}
