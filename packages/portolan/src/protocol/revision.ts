import type { ErrorObject, JsonObject, RpcError } from "../jsonrpc/message.ts";
import type { ShapeCheck } from "../schema/shape.ts";
import { createEncoder, type EncoderParts } from "./encode.ts";
import type { ErrorKind } from "./errors.ts";
import type { ClientCapabilities, Implementation, InputRequests, LogLevel, ProgressToken } from "./types/index.ts";

/** One dated version of the protocol. Code asks it for a difference, and never compares versions. */
export interface Revision {
  readonly version: string;
  /** The peer describes itself once in a handshake, or in each request. */
  readonly era: "stateful" | "stateless";
  /** A server asks its client by requests of its own, or in the result of the client's request. */
  readonly questions: "requests" | "in-result";
  /** True if log messages are sent before the client names a level. */
  readonly logsUnasked: boolean;
  /** Change notifications go to every connection, or to subscriptions of `subscriptions/listen`. */
  readonly changes: "connection" | "listen";
  readonly batches: boolean;
  /** The id of an error about a message whose id could not be read: `null`, or no member. */
  readonly unreadableId: "null" | "omit";
  /** The behaviour of its sessions over HTTP. */
  readonly http: HttpTraits;
  readonly requests: MethodTable;
  /** The notifications that a client may send. */
  readonly clientNotifications: ReadonlySet<string>;
  /** Reads the peer from the `_meta` of its request. Only for stateless revisions. */
  readPeer(meta: JsonObject): Peer;
  /** Drops or converts members that this revision does not have, and keeps members that no revision has. */
  encodeResult(method: string, outcome: Outcome, self: Self): JsonObject;
  /** Does the same without the members that every result has. */
  encodeComplete(method: string, outcome: Complete): JsonObject;
  encodeError(error: RpcError): ErrorObject;
  /** Returns the params for this revision, or undefined if it has no such notification. */
  encodeNotification(method: string, params: JsonObject): JsonObject | undefined;
  /** The facts behind its encoders, for the modules that encode questions and the messages of a client. */
  readonly encoderParts: EncoderParts;
}

/** The differences between revisions over HTTP. */
export interface HttpTraits {
  /** Event streams begin with an empty event, whose id lets a client resume before the first message. */
  readonly primes: boolean;
  /** Requests of a session carry the version in a header. */
  readonly namesVersion: boolean;
}

/** A capability of a server that methods depend on. */
export type OfferedCapability = "tools" | "resources" | "resources.subscribe" | "prompts" | "completions" | "logging";

/** All facts of a revision about one method. Code that needs another fact gets a member here. */
export interface MethodRow {
  readonly params: ShapeCheck;
  /** A server without this capability answers "method not found". */
  readonly capability?: OfferedCapability;
  /** Needs no feature of the server, so that it is answered while features are still loading. */
  readonly isImmediate?: boolean;
  /** A client must not cancel it. */
  readonly isUncancellable?: boolean;
  /** Runs code of the server's author, which may report progress and ask the client before it answers. */
  readonly runsHandler?: boolean;
  /** Stays open until either side ends it, so that no timeout applies. */
  readonly openEnded?: boolean;
  /** Complete results carry `ttlMs` and `cacheScope`. */
  readonly cacheable?: boolean;
  /** The member of the params that the `Mcp-Name` header repeats. */
  readonly nameIn?: "name" | "uri";
}

export type MethodTable = ReadonlyMap<string, MethodRow>;

/** The other side of a request: its revision, its capabilities and its name. */
export interface Peer {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly info?: Implementation | undefined;
  /** The least severe log message that it wants. Absent: it named no level. */
  readonly logLevel?: LogLevel | undefined;
}

/** The identity that the sending side puts into its messages. */
export interface Self {
  readonly info: Implementation;
}

/** The result of a handler before it is encoded for a revision. */
export type Outcome = Complete | PreparedResult | InputRequired | Extended;

/** A finished result. `wrapped` marks structured content whose schema is no object; older peers get it as `{ result: … }`. */
export interface Complete {
  readonly kind: "complete";
  readonly result: JsonObject;
  readonly wrapped?: boolean;
  /**
   * The text of the only content, if the result has nothing else but structured content with this JSON: the result is then
   * written from it and not serialized again.
   */
  readonly onlyText?: string | undefined;
}

/** A finished result that is already encoded for the peer's revision and serialized. */
export interface PreparedResult {
  readonly kind: "prepared";
  readonly resultText: string;
}

/** Questions to the client, which repeats its request with the answers. */
export interface InputRequired {
  readonly kind: "input_required";
  readonly requests?: InputRequests;
  readonly state?: string;
}

/** A result of a type that an extension defines. */
export interface Extended {
  readonly kind: "extended";
  readonly resultType: string;
  readonly result: JsonObject;
}

/** Makes an outcome of a finished result. */
export function complete(result: JsonObject): Complete {
  return { kind: "complete", result };
}

/** The reserved `_meta` keys. No other file writes them out. */
export const metaKeys = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
  relatedTask: "io.modelcontextprotocol/related-task",
} as const;

/** Returns the `_meta` of a request's params if it is an object. */
export function metaOf(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?.["_meta"];
  return typeof meta === "object" && meta !== null ? (meta as JsonObject) : undefined;
}

/** Returns the token for progress notifications, if the caller sent one. */
export function progressTokenOf(params: JsonObject | undefined): ProgressToken | undefined {
  const token = metaOf(params)?.["progressToken"];
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}

/** The changelog of one revision: its differences from the one before. */
export interface RevisionChanges extends Partial<Traits> {
  readonly version: string;
  /** Requests of the client. A string removes one and names its replacement. */
  readonly requests?: { readonly [method: string]: MethodRow | string };
  /** Notifications of the client. `false` removes one. */
  readonly clientNotifications?: { readonly [method: string]: boolean };
  /** Notifications of the server. `false` removes one. */
  readonly serverNotifications?: { readonly [method: string]: boolean };
  /** Client capabilities that questions can need. */
  readonly asks?: { readonly [Q in AskableCapability]?: boolean };
  /** Members that this revision adds. They are not sent to older peers. */
  readonly adds?: KindMembers;
  /** Members that this revision removes. */
  readonly removes?: KindMembers;
  /** Types of content that this revision adds, with the conversion for older peers. */
  readonly content?: { readonly [type: string]: Fallback };
  /** Conversions for older peers of values that this revision writes in another way. */
  readonly older?: {
    readonly elicitationField?: Fallback;
    readonly samplingMessages?: (messages: JsonObject[]) => JsonObject[];
  };
}

/** The oldest revision, which is complete in itself. */
export type FirstRevision = RevisionChanges & Traits;

/** All traits of a revision: those of the first one with every change up to it. */
export type EffectiveTraits = Traits;

type Traits = Pick<Revision, "era" | "questions" | "logsUnasked" | "changes" | "batches" | "unreadableId" | "http"> & {
  /** Extensions that must not be used with it. */
  readonly refusedExtensions: readonly string[];
  /** The structured content that a tool may return. */
  readonly structured: "none" | "object" | "any";
  readonly errorCodes: { readonly [K in ErrorKind]: number };
  /** Replaces a code that this revision does not allow. */
  readonly allowedCode: (code: number) => number;
  /** Adds the members that every result has. */
  readonly envelope: (result: JsonObject, row: MethodRow | undefined, self: Self, method: string) => JsonObject;
  /** Returns the same members as JSON text, if they do not depend on the result. */
  readonly envelopeText?: (
    result: JsonObject,
    row: MethodRow | undefined,
    self: Self,
    method: string,
  ) => string | undefined;
  readonly readPeer: (meta: JsonObject, revision: Revision) => Peer;
};

/** A kind of object whose members differ between revisions. */
export type DataKind =
  | "implementation"
  | "serverCapabilities"
  | "tool"
  | "resource"
  | "prompt"
  | "promptArgument"
  | "annotations"
  | "content"
  | "resourceContents"
  | "callToolResult"
  | "result"
  | "progress"
  | "elicitation"
  | "elicitationField"
  | "sampling"
  | "samplingMessage"
  | "clientCapabilities"
  | "clientRoots"
  | "clientSampling"
  | "clientElicitation"
  | "call"
  | "completion"
  | "promptReference"
  | "root"
  | "answer";

/** Names of members by the kind of their object. */
export type KindMembers = { readonly [K in DataKind]?: readonly string[] };

/** Converts a value into one that older revisions have. */
export type Fallback = (value: JsonObject) => JsonObject;

/** A client capability that a question can need. */
export type AskableCapability =
  | "roots"
  | "sampling"
  | "sampling.tools"
  | "sampling.context"
  | "elicitation.form"
  | "elicitation.url";

/**
 * Builds all revisions from their changelogs, oldest first. The members that an older revision must not send follow
 * from those that the later ones add, so that a new revision is one new file and one line in the list.
 */
export function deriveRevisions(first: FirstRevision, ...later: RevisionChanges[]): Revision[] {
  const changes: RevisionChanges[] = [first, ...later];
  return changes.map((_, index) => build(first, changes.slice(0, index + 1), changes.slice(index + 1)));
}

function build(first: FirstRevision, upTo: RevisionChanges[], after: RevisionChanges[]): Revision {
  const traits: EffectiveTraits = Object.assign({ ...first }, ...upTo.map(withoutUndefined));
  const { version } = upTo[upTo.length - 1] ?? first;
  const requests = table(upTo.map((c) => c.requests ?? {}));
  const clientNotifications = allowed(upTo.map((c) => c.clientNotifications ?? {}));
  const serverNotifications = allowed(upTo.map((c) => c.serverNotifications ?? {}));
  const asks = allowed(upTo.map((c) => c.asks ?? {}));
  const hidden = hiddenMembers(upTo, after);
  const encoderParts = { traits, requests, serverNotifications, asks, hidden, upTo, after };
  const { era, questions, logsUnasked, changes, batches, unreadableId, http } = traits;
  const revision: Revision = {
    version,
    era,
    questions,
    logsUnasked,
    changes,
    batches,
    unreadableId,
    http,
    requests,
    clientNotifications,
    readPeer: (meta) => traits.readPeer(meta, revision),
    encoderParts,
    ...createEncoder(encoderParts),
  };
  return revision;
}

/** Removes undefined members, which would erase a trait of an older revision. */
function withoutUndefined(changes: RevisionChanges): Partial<EffectiveTraits> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

function table(layers: { readonly [method: string]: MethodRow | string }[]): Map<string, MethodRow> {
  const rows = new Map<string, MethodRow>();
  for (const layer of layers) {
    for (const [method, row] of Object.entries(layer)) {
      if (typeof row !== "string") rows.set(method, row);
      else rows.delete(method);
    }
  }
  return rows;
}

function allowed(layers: { readonly [name: string]: boolean }[]): Set<string> {
  const names = new Set<string>();
  for (const layer of layers) {
    for (const [name, isAllowed] of Object.entries(layer)) {
      if (isAllowed) names.add(name);
      else names.delete(name);
    }
  }
  return names;
}

function hiddenMembers(upTo: RevisionChanges[], after: RevisionChanges[]): Map<DataKind, string[]> {
  const hidden = new Map<DataKind, string[]>();
  for (const members of [...upTo.map((c) => c.removes), ...after.map((c) => c.adds)]) {
    for (const [kind, names] of Object.entries(members ?? {})) {
      hidden.set(kind as DataKind, [...(hidden.get(kind as DataKind) ?? []), ...(names ?? [])]);
    }
  }
  return hidden;
}
