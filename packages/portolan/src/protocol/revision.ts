import type { ErrorObject, JsonObject, RpcError } from "../jsonrpc/message.ts";
import type { ShapeCheck } from "../schema/shape.ts";
import { createEncoder, type EncoderParts } from "./encode.ts";
import type { ErrorKind } from "./errors.ts";
import type { ClientCapabilities, Implementation, InputRequests, LogLevel, ProgressToken } from "./types/index.ts";

/** Who is on the other side of a request, and what it can do. */
export interface Peer {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly info?: Implementation | undefined;
  /** The least severe log message it wants; absent means that none was asked for. */
  readonly logLevel?: LogLevel | undefined;
}

/** What the sending side says of itself in what it sends. */
export interface Self {
  readonly info: Implementation;
}

/** Every fact about one method, so that no other file keeps a list of methods. */
export interface MethodRow {
  readonly params: ShapeCheck;
  /** The handler may ask the client before it answers. */
  readonly mayAsk?: boolean;
  /** Stays open until either side ends it; nobody waits for its result. */
  readonly openEnded?: boolean;
  /** Complete results carry `ttlMs` and `cacheScope`. */
  readonly cacheable?: boolean;
  /** The member of the params that the `Mcp-Name` header repeats. */
  readonly nameIn?: "name" | "uri";
}

export type MethodTable = ReadonlyMap<string, MethodRow>;

/** One dated version of the protocol. Code asks it; code never asks which one it is. */
export interface Revision {
  readonly version: string;
  /** Who the peer is: told once by a handshake, or by each request. */
  readonly lifecycle: "handshake" | "per-request";
  /** How a server asks its client: by requests of its own, or in the result. */
  readonly questions: "requests" | "in-result";
  /** Whether log messages flow until the client sets a level, or only to requests that name one. */
  readonly logsUnasked: boolean;
  /** Changes are told to the connection, or to those who listen for them. */
  readonly changes: "connection" | "listen";
  readonly batches: boolean;
  /** What stands for the id in an error about input whose id could not be read. */
  readonly unreadableId: "null" | "omit";
  /** How its sessions behave over HTTP. */
  readonly http: HttpTraits;
  readonly requests: MethodTable;
  readonly notifications: MethodTable;
  /** Reads the caller from the `_meta` of its request; only where the lifecycle is per request. */
  readPeer(meta: JsonObject): Peer;
  /** Drops or converts what this revision does not know, and keeps members nobody knows. */
  encodeResult(method: string, outcome: Outcome, self: Self): JsonObject;
  /** The same as JSON text; throws a PortolanError "unserializable" for what has none. */
  encodeResultText(method: string, outcome: Outcome, self: Self): string;
  encodeError(error: RpcError): ErrorObject;
  /** The params as this revision spells them, or undefined when it has no such notification. */
  encodeNotification(method: string, params: JsonObject): JsonObject | undefined;
  /** What a server may ask in this revision and how it is spelled, for `encodeQuestion` and `lackedBy`. */
  readonly asking: EncoderParts;
}

/** The kinds of object whose members differ between revisions. */
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

export type KindMembers = { readonly [K in DataKind]?: readonly string[] };

/** Turns a value that an older peer does not know into one that it does. */
export type Fallback = (value: JsonObject) => JsonObject;

/** A thing a server can ask for, as far as revisions tell them apart. */
export type AskableCapability =
  | "roots"
  | "sampling"
  | "sampling.tools"
  | "sampling.context"
  | "elicitation.form"
  | "elicitation.url";

/** What differs between revisions over HTTP. */
export interface HttpTraits {
  /** Event streams begin with an event that lets a client come back before it has heard anything. */
  readonly primes: boolean;
  /** Requests of a session name its version in a header. */
  readonly namesVersion: boolean;
}

type Traits = Pick<
  Revision,
  "lifecycle" | "questions" | "logsUnasked" | "changes" | "batches" | "unreadableId" | "http"
> & {
  /** Which structured content a tool may return. */
  readonly structured: "none" | "object" | "any";
  readonly errorCodes: { readonly [K in ErrorKind]: number };
  /** Replaces a code that must not be sent here. */
  readonly allowedCode: (code: number) => number;
  /** Adds what every result carries. */
  readonly envelope: (result: JsonObject, row: MethodRow | undefined, self: Self, method: string) => JsonObject;
  /** The members that go before those of every complete result, as JSON text, where they are the same for all. */
  readonly envelopeText?: (
    result: JsonObject,
    row: MethodRow | undefined,
    self: Self,
    method: string,
  ) => string | undefined;
  readonly readPeer: (meta: JsonObject, revision: Revision) => Peer;
};

/** The changelog of one revision: what it says differently from the one before. */
export interface RevisionChanges extends Partial<Traits> {
  readonly version: string;
  /** Requests of the client; a text removes one and says what to use instead. */
  readonly requests?: { readonly [method: string]: MethodRow | string };
  /** Notifications of the client; `null` removes one. */
  readonly notifications?: { readonly [method: string]: ShapeCheck | null };
  /** Notifications of the server. */
  readonly tells?: { readonly [method: string]: boolean };
  readonly asks?: { readonly [Q in AskableCapability]?: boolean };
  /** Members first allowed here: older peers never see them. */
  readonly adds?: KindMembers;
  /** Members no longer allowed here. */
  readonly removes?: KindMembers;
  /** Content blocks first allowed here, and what an older peer gets instead. */
  readonly content?: { readonly [type: string]: Fallback };
  /** How older peers are told what this revision says in a new way. */
  readonly older?: {
    readonly elicitationField?: Fallback;
    readonly samplingMessages?: (messages: JsonObject[]) => JsonObject[];
  };
}

/** The first revision, which has nothing to derive from. */
export type FirstRevision = RevisionChanges & Traits;

/** All traits of a revision, after every change up to it. */
export type EffectiveTraits = Traits;

/**
 * Builds all revisions from their changelogs, oldest first. What an older revision must not say follows from what the
 * later ones add, so that a new revision is one new file and its place in the list.
 */
export function deriveRevisions(first: FirstRevision, ...later: RevisionChanges[]): Revision[] {
  const changes: RevisionChanges[] = [first, ...later];
  return changes.map((_, index) => build(first, changes.slice(0, index + 1), changes.slice(index + 1)));
}

function build(first: FirstRevision, upTo: RevisionChanges[], after: RevisionChanges[]): Revision {
  const traits: EffectiveTraits = Object.assign({ ...first }, ...upTo.map(withoutUndefined));
  const { version } = upTo[upTo.length - 1] ?? first;
  const requests = table(upTo.map((c) => c.requests ?? {}));
  const notifications = table(upTo.map((c) => rowsOf(c.notifications ?? {})));
  const tells = allowed(upTo.map((c) => c.tells ?? {}));
  const asks = allowed(upTo.map((c) => c.asks ?? {}));
  const asking = { traits, requests, tells, asks, hidden: hiddenMembers(upTo, after), upTo, after };
  const { lifecycle, questions, logsUnasked, changes, batches, unreadableId, http } = traits;
  const revision: Revision = {
    version,
    lifecycle,
    questions,
    logsUnasked,
    changes,
    batches,
    unreadableId,
    http,
    requests,
    notifications,
    readPeer: (meta) => traits.readPeer(meta, revision),
    asking,
    ...createEncoder(asking),
  };
  return revision;
}

/** Keeps a changelog from erasing a trait with an undefined member. */
function withoutUndefined(changes: RevisionChanges): Partial<EffectiveTraits> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

function table(layers: { readonly [method: string]: MethodRow | string | null }[]): Map<string, MethodRow> {
  const rows = new Map<string, MethodRow>();
  for (const layer of layers) {
    for (const [method, row] of Object.entries(layer)) {
      if (row && typeof row !== "string") rows.set(method, row);
      else rows.delete(method);
    }
  }
  return rows;
}

function rowsOf(checks: NonNullable<RevisionChanges["notifications"]>): { [method: string]: MethodRow | null } {
  return Object.fromEntries(Object.entries(checks).map(([method, params]) => [method, params && { params }]));
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

/** A finished result. `boxed` marks structured content whose schema is no object, which older peers get in a box. */
export interface Complete {
  readonly kind: "complete";
  readonly result: JsonObject;
  readonly boxed?: boolean;
  /** Tells that the result is structured content and this JSON text of it, which then need not be made a second time. */
  readonly mirror?: string | undefined;
}

/** A finished result, encoded for the peer's revision and serialized already. */
export interface PreparedResult {
  readonly kind: "prepared";
  readonly resultText: string;
}

/** The client is asked first, and calls again with the answers. */
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

/** What a handler produced, before a revision puts it on the wire. */
export type Outcome = Complete | PreparedResult | InputRequired | Extended;

export function complete(result: JsonObject): Complete {
  return { kind: "complete", result };
}

/** The reserved `_meta` keys; nothing else in the library spells them. */
export const metaKeys = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

/** The `_meta` of a request's params, when it is an object. */
export function metaOf(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?.["_meta"];
  return typeof meta === "object" && meta !== null ? (meta as JsonObject) : undefined;
}

/** The token under which the caller wants to hear of progress. */
export function progressTokenOf(params: JsonObject | undefined): ProgressToken | undefined {
  const token = metaOf(params)?.["progressToken"];
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}
