import { type MaybePromise, whenDone } from "../async.ts";
import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { complete, type Outcome, type Peer, type Revision } from "../protocol/revision.ts";
import type { ShapeCheck } from "../schema/shape.ts";
import { type Exchange, ServedExchange } from "./call/exchange.ts";

/** Stands around a handler: looks, changes, answers instead, or calls `next`. */
export type Middleware = (
  exchange: Exchange,
  next: (exchange: Exchange) => MaybePromise<Outcome>,
) => MaybePromise<Outcome>;

/** Which kind of feature a list entry describes. */
export type FeatureKind = "tool" | "resource" | "template" | "prompt";

/** A request that a server answers beyond those of the protocol. */
export interface ExtraMethod {
  params?: ShapeCheck;
  handle(exchange: Exchange): MaybePromise<JsonObject | Outcome>;
}

/** What an extension adds to one revision. */
export interface ExtensionParts {
  /** Advertised as the settings of the extension. */
  readonly settings?: JsonObject;
  readonly requests?: { readonly [method: string]: ExtraMethod };
  readonly notifications?: { readonly [method: string]: (params: JsonObject, peer: Peer) => void };
  /** Members of a listen filter, each with the test whether a published change is wanted. */
  readonly listen?: { readonly [member: string]: (wanted: unknown, topic: string, payload: JsonObject) => boolean };
  /** Changes the list entry of a feature for peers that know the extension. */
  readonly decorate?: (kind: FeatureKind, entry: JsonObject) => JsonObject;
}

/** An addition to the protocol under an id of its own: off unless used, and only seen by peers that declare it. */
export interface ServerExtension {
  readonly id: string;
  /** What it adds to a revision; undefined when it has no part in it. */
  on(revision: Revision): ExtensionParts | undefined;
  readonly around?: Middleware;
}

/** Whether a peer declared an extension. */
export function knows({ capabilities }: Peer, id: string): boolean {
  return capabilities.extensions !== undefined && Object.hasOwn(capabilities.extensions, id);
}

/** Runs a handler inside its middleware, the first one outermost. */
export function runAround(
  chain: readonly Middleware[],
  exchange: ServedExchange,
  handle: (exchange: ServedExchange) => MaybePromise<Outcome>,
): MaybePromise<Outcome> {
  const step = (index: number, current: Exchange): MaybePromise<Outcome> => {
    if (!(current instanceof ServedExchange)) {
      throw new PortolanError(
        "invalid-argument",
        "Middleware: expected next(exchange) or next(exchange.withParams(…))",
      );
    }
    const around = chain[index];
    return around ? around(current, (next) => step(index + 1, next)) : whenDone(handle(current), open);
  };
  return step(0, exchange);
}

/** Middleware sees results and may change them, so that no text of them is kept. */
function open(outcome: Outcome): Outcome {
  if (outcome.kind === "complete" && outcome.mirror !== undefined) return { ...outcome, mirror: undefined };
  if (outcome.kind !== "prepared") return outcome;
  const { resultType: _resultType, ...result } = JSON.parse(outcome.resultText) as JsonObject;
  return complete(result);
}
