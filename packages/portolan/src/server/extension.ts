import { Lazy, type MaybePromise, whenDone } from "../async.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { complete, type Outcome, type Peer, type Revision } from "../protocol/revision.ts";
import type { ShapeCheck } from "../schema/shape.ts";
import type { Exchange, ServedExchange } from "./call/exchange.ts";

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
  /** Returns the result of the request. */
  handle(exchange: Exchange): MaybePromise<JsonObject | Outcome>;
}

/** The additions of an extension to one revision. */
export interface ExtensionParts {
  /** The settings of the extension among the server's capabilities. */
  readonly settings?: JsonObject;
  readonly requests?: { readonly [method: string]: CustomMethod };
  readonly notifications?: { readonly [method: string]: (params: JsonObject, peer: Peer) => void };
  /** Members of a listen filter, each with the function that decides whether a client wants a publication. */
  readonly listen?: { readonly [member: string]: (wanted: unknown, topic: string, payload: JsonObject) => boolean };
  /** Changes the list entry of a feature for peers that declared the extension. */
  readonly decorate?: (kind: FeatureKind, entry: JsonObject) => JsonObject;
}

/** An addition to the protocol. Only peers that declare its id see it. */
export interface ServerExtension {
  /** With a prefix, such as "com.example/id". */
  readonly id: string;
  /** Returns its additions to a revision; undefined if it takes no part in that revision. */
  on(revision: Revision): ExtensionParts | undefined;
  readonly around?: Middleware;
}

/** Returns whether a peer declared an extension. */
export function knows({ capabilities }: Peer, id: string): boolean {
  return capabilities.extensions !== undefined && Object.hasOwn(capabilities.extensions, id);
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
