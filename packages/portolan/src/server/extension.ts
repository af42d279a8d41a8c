import { type MaybePromise, whenDone } from "../async.ts";
import { nameOf, PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { complete, type Outcome, type Peer, type Revision } from "../protocol/revision.ts";
import type { ShapeCheck } from "../schema/shape.ts";
import { type Exchange, ServedExchange } from "./call/exchange.ts";

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
  const step = (index: number, current: Exchange): MaybePromise<Outcome> => {
    if (!(current instanceof ServedExchange)) {
      throw new PortolanError(
        "invalid-argument",
        "Middleware: expected next(exchange) or next(exchange.withParams(…))",
      );
    }
    const around = chain[index];
    if (!around) return whenDone(handle(current), withoutText);
    return whenDone(
      around(current, (next) => step(index + 1, next)),
      checkOutcome,
    );
  };
  return step(0, exchange);
}

/** Throws if middleware returned no outcome, which is easily forgotten. */
function checkOutcome(outcome: Outcome): Outcome {
  if (typeof outcome?.kind === "string") return outcome;
  throw new PortolanError(
    "invalid-definition",
    `Middleware: expected the return value of next(exchange), or { kind: "complete", result }, got ${nameOf(outcome)}`,
  );
}

/** Removes the serialized text of a result, because middleware may change the result. */
function withoutText(outcome: Outcome): Outcome {
  if (outcome.kind === "complete" && outcome.mirror !== undefined) return { ...outcome, mirror: undefined };
  if (outcome.kind !== "prepared") return outcome;
  const { resultType: _resultType, ...result } = JSON.parse(outcome.resultText) as JsonObject;
  return complete(result);
}
