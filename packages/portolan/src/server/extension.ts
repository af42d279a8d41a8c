import { Lazy, type MaybePromise, whenDone } from "../async.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { complete, type Outcome, type Peer, type Revision } from "../protocol/revision.ts";
import type { Implementation, InputRequest } from "../protocol/types/index.ts";
import type { ShapeCheck } from "../schema/shape.ts";
import type { Storage } from "../storage/storage.ts";
import type { Exchange, Principal, ServedExchange } from "./call/exchange.ts";
import type { ToolDefinition } from "./define/definition.ts";
import type { Server } from "./define/server.ts";
import type { Audience } from "./subscribe/hub.ts";

/** Runs around a handler: it may inspect or change the request and the result, or answer without calling `next`. */
export type Middleware = (
  exchange: Exchange,
  next: (exchange: Exchange) => MaybePromise<Outcome>,
) => MaybePromise<Outcome>;

/** The kind of feature that a list entry describes. */
export type FeatureKind = "tool" | "resource" | "template" | "prompt";

/** A method beyond those of the protocol. */
export interface CustomMethod {
  /** Returns what is wrong with the params, or undefined. Default: params are not checked. */
  params?: ShapeCheck;
  /** The member of the params that the header `Mcp-Name` repeats over HTTP on 2026-07-28. Default: none. */
  nameIn?: string;
  /** True if peers may use it that did not declare the extension it belongs to. Default: false. */
  isOpen?: boolean;
  /** Returns the result of the request. */
  handle(exchange: Exchange): MaybePromise<JsonObject | Outcome>;
}

/** The additions of an extension to one revision. */
export interface ExtensionParts {
  /** True if these parts are for every peer, also for those that did not declare the extension. Default: false. */
  readonly isOpen?: boolean;
  /** The settings of the extension among the server's capabilities. */
  readonly settings?: JsonObject;
  /** Further capabilities of the server, for a revision that knows the feature under another name. */
  readonly capabilities?: JsonObject | ((principal: Principal) => JsonObject);
  readonly requests?: { readonly [method: string]: CustomMethod };
  readonly notifications?: { readonly [method: string]: (params: JsonObject, peer: Peer) => void };
  /** Members of the filter of `subscriptions/listen`. */
  readonly listen?: { readonly [member: string]: ListenMember };
  /**
   * Changes the list entry of a feature, or hides it by returning undefined. Its return value depends on nothing but its
   * arguments, because it is cached.
   */
  readonly decorate?: (entry: JsonObject, feature: DecoratedFeature) => JsonObject | undefined;
}

/** A member of the filter of `subscriptions/listen`. */
export interface ListenMember {
  /** Returns the part of the wanted value that this caller gets, or undefined. Throws to refuse the request. */
  admit(wanted: unknown, exchange: Exchange): MaybePromise<unknown>;
  /** Returns whether a client with this admitted value wants a publication. */
  wants(admitted: unknown, topic: string, payload: JsonObject): boolean;
}

/** A feature whose list entry an extension may change. */
export interface DecoratedFeature {
  readonly kind: FeatureKind;
  /** The options of the feature for this extension: `extensions` of its definition, by the id. */
  readonly options: unknown;
  /** True if the peer declared the extension. */
  readonly isDeclared: boolean;
}

/** An addition to the protocol. Peers that did not declare its id see only its open parts. */
export interface ServerExtension {
  /** With a prefix, such as "com.example/id". */
  readonly id: string;
  /** Returns its additions to a revision; undefined if it takes no part in that revision. */
  on(revision: Revision, server: ExtendedServer): ExtensionParts | undefined;
  /**
   * Runs around every request of the revisions that it takes part in. `isDeclared` tells if the peer declared it; `server`
   * is the one that `on` was given.
   */
  around?(
    exchange: Exchange,
    next: (exchange: Exchange) => MaybePromise<Outcome>,
    isDeclared: boolean,
    server: ExtendedServer,
  ): MaybePromise<Outcome>;
  /** Returns the server with the features that the extension serves by itself, such as a template. */
  define?(server: Server<unknown, unknown>): Server<unknown, unknown>;
  /** A member that the definition of a tool may have once the server is extended. */
  readonly toolMember?: ToolMember;
}

/** A member of a tool's definition that an extension understands. */
export interface ToolMember {
  /** The name of the member, such as "ui". */
  readonly name: string;
  /**
   * Adds a tool that has the member. Calls `server.tool` with a definition that lacks it, whose `extensions` may keep options
   * for this extension; the members of other extensions stay in the definition.
   */
  define(
    server: Server<unknown, unknown>,
    name: string,
    definition: ToolDefinition<unknown, unknown, unknown>,
  ): Server<unknown, unknown>;
}

/** The served server, as its extensions see it. */
export interface ExtendedServer {
  /** The storage that other processes share, if the server has one. */
  readonly storage: Storage | undefined;
  /** Sends `notifications/<topic>` to the clients whose filter wants it, in all processes. */
  publish(topic: string, payload: JsonObject, audience?: Audience): void;
  /** Reports an error to the server's `onError`. Returns the reference that a peer may be told. */
  report(error: unknown): string;
  /** The name and version of the server. */
  readonly info: Implementation;
  /** Returns whether the caller can see a feature: a tool or prompt by its name, the others by their URI. */
  hasFeature(kind: FeatureKind, key: string, exchange: Exchange): boolean;
  /** Returns the options of a feature for this extension; undefined for a feature that the caller cannot see. */
  optionsOf(kind: FeatureKind, key: string, exchange: Exchange): unknown;
  /**
   * Runs a request apart from its client: it may outlive the response, and run later or in another process. The middleware
   * that comes after the extension runs around it.
   */
  detach(request: DetachableRequest, options?: DetachOptions): DetachedRun;
}

/** An exchange, or the members of one that an extension has stored as JSON. */
export interface DetachableRequest extends Pick<Exchange, "id" | "method" | "params" | "principal"> {
  readonly peer: Pick<Peer, "capabilities" | "info"> & { readonly revision: { readonly version: string } };
}

/** Options of `ExtendedServer.detach`. */
export interface DetachOptions {
  /** Takes the notifications of the handler. Default: they are dropped. */
  readonly notify?: (method: string, params: JsonObject) => void;
  /** Takes the texts of `ctx.status`. Default: they are dropped. */
  readonly status?: (message: string) => void;
  /**
   * Answers a question of the handler, which waits in memory. Default: questions end the run with the outcome
   * `"input_required"`; detach it again with its `state` as `requestState` and the answers as `inputResponses`.
   */
  readonly ask?: (question: InputRequest) => Promise<JsonObject>;
}

/** A request that runs apart from its client. */
export interface DetachedRun {
  /** Rejects with the `RpcError` that a client would get. */
  readonly outcome: Promise<Outcome>;
  /** Aborts the signal of the handler. */
  cancel(reason: Error): void;
}

/** Runs a handler inside its middleware, the first one outermost. */
export function runAround(
  chain: readonly Middleware[],
  exchange: ServedExchange,
  handle: (exchange: ServedExchange) => MaybePromise<Outcome>,
): MaybePromise<Outcome> {
  return withExtra(exchange, (late) => late.runMiddleware(chain, exchange, handle));
}

/** Continues a request with the parts that few servers need, unless it was cancelled while they were loading. */
export function withExtra(
  exchange: ServedExchange,
  next: (late: typeof import("./call/extra.ts")) => MaybePromise<Outcome>,
): MaybePromise<Outcome> {
  return whenDone(extra.get(), (late) => (exchange.isCancelled ? complete({}) : next(late)));
}

/** Loads a part of the server that is not loaded at its start. */
export type LoadPart = () => unknown;

/** Parts of a call that few servers need: middleware, needed capabilities, batches, and methods beyond the protocol. */
export const extra: Lazy<typeof import("./call/extra.ts")> = /* @__PURE__ */ new Lazy(() => import("./call/extra.ts"));
