import type { RpcError } from "../jsonrpc/errors.ts";
import type { ErrorObject, JsonObject } from "../jsonrpc/message.ts";
import type { Check } from "../schema/shape.ts";
import type { EncoderParts } from "./encode.ts";
import type { ErrorKind } from "./errors.ts";
import type { Outcome } from "./outcome.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "./types/index.ts";

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
  readonly params: Check;
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
export type Kind =
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

export type Members = { readonly [K in Kind]?: readonly string[] };

/** Turns a value that an older peer does not know into one that it does. */
export type Fallback = (value: JsonObject) => JsonObject;

/** A thing a server can ask for, as far as revisions tell them apart. */
export type Question =
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
  readonly notifications?: { readonly [method: string]: Check | null };
  /** Notifications of the server. */
  readonly tells?: { readonly [method: string]: boolean };
  readonly asks?: { readonly [Q in Question]?: boolean };
  /** Members first allowed here: older peers never see them. */
  readonly adds?: Members;
  /** Members no longer allowed here. */
  readonly removes?: Members;
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
