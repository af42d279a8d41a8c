import { isPromise, Lazy, type MaybePromise, whenDone } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { PreparedResponse } from "../../jsonrpc/channel.ts";
import { type JsonObject, RpcError, type RpcResponse, serializeResult } from "../../jsonrpc/message.ts";
import { internalError, invalidParams, methodNotFound, unserializableResult } from "../../protocol/errors.ts";
import {
  type Complete,
  complete,
  type MethodRow,
  type Outcome,
  type Peer,
  type Revision,
  type Self,
} from "../../protocol/revision.ts";
import type { LogLevel } from "../../protocol/types/index.ts";
import type { ErrorReport } from "../define/definition.ts";
import type { Parts } from "../define/snapshot.ts";
import { extra, runAround, withExtra } from "../extension.ts";
import type { ServerRuntime } from "../runtime.ts";
import { callTool } from "./call-tool.ts";
import type { ServedExchange } from "./exchange.ts";

/**
 * Sends the one response to a request. `error` is the error that the response reports; HTTP takes its status from it.
 * Throws when the response has no JSON form.
 */
export type SendReply = (response: RpcResponse | PreparedResponse, error?: RpcError) => void;

/**
 * Serves one request to its end: one response, or none when it is cancelled. Returns true if the request was not answered
 * synchronously; `exchange.onSettled` is called when its handler has ended.
 */
export function serveExchange(runtime: ServerRuntime, exchange: ServedExchange, reply: SendReply): boolean {
  try {
    const outcome = dispatch(runtime, exchange);
    if (isPromise(outcome)) {
      outcome.then(
        (done) => {
          answer(runtime, exchange, done, reply);
          exchange.settle();
        },
        (cause) => {
          fail(runtime, exchange, cause, reply);
          exchange.settle();
        },
      );
      return true;
    }
    answer(runtime, exchange, outcome, reply);
  } catch (cause) {
    fail(runtime, exchange, cause, reply);
  }
  return false;
}

function answer(runtime: ServerRuntime, exchange: ServedExchange, outcome: Outcome, reply: SendReply): void {
  if (exchange.isCancelled) return;
  exchange.end();
  const { id, method, peer } = exchange;
  try {
    if (exchange.returnPath.writesText || outcome.kind === "prepared") {
      reply({ id, resultText: resultText(peer.revision, method, outcome, runtime.snapshot) });
    } else reply({ jsonrpc: "2.0", id, result: peer.revision.encodeResult(method, outcome, runtime.snapshot) });
  } catch (cause) {
    replyError(runtime, exchange, cause, reply);
  }
}

/** Returns a result as JSON text. Throws a PortolanError "unserializable" if there is none. */
function resultText(revision: Revision, method: string, outcome: Outcome, self: Self): string {
  if (outcome.kind === "prepared") return outcome.resultText;
  if (outcome.kind !== "complete") return serializeResult(revision.encodeResult(method, outcome, self));
  const { traits, requests } = revision.encoderParts;
  const result = revision.encodeComplete(method, outcome);
  const row = requests.get(method);
  const head = traits.envelopeText?.(result, row, self, method);
  if (head === undefined) return textOf(traits.envelope(result, row, self, method), outcome);
  const text = textOf(result, outcome);
  return text === "{}" ? `{${head}}` : `{${head},${text.slice(1)}`;
}

/** Hot path: most results are one text, whose JSON costs a third of the result's, unless the revision changed the result. */
function textOf(result: JsonObject, { result: original, onlyText }: Complete): string {
  if (onlyText === undefined || result !== original) return serializeResult(result);
  const structured = "structuredContent" in result ? `,"structuredContent":${onlyText}` : "";
  return `{"content":[{"type":"text","text":${JSON.stringify(onlyText)}}]${structured}}`;
}

function fail(runtime: ServerRuntime, exchange: ServedExchange, cause: unknown, reply: SendReply): void {
  if (exchange.isCancelled) return;
  exchange.end();
  replyError(runtime, exchange, cause, reply);
}

function replyError(runtime: ServerRuntime, exchange: ServedExchange, cause: unknown, reply: SendReply): void {
  const { id, peer } = exchange;
  const failure = toRpcError(runtime, cause, exchange.origin);
  const error = peer.revision.encodeError(failure);
  try {
    reply({ jsonrpc: "2.0", id, error }, failure);
  } catch (unserializable) {
    // The data of an error may have no JSON form either; its code and message always do.
    runtime.report(unserializable, exchange.origin);
    reply({ jsonrpc: "2.0", id, error: { code: error.code, message: error.message } }, failure);
  }
}

/** Returns the error that the peer sees. An error that is not an `RpcError` is masked: the peer gets a reference only. */
export function toRpcError(runtime: ServerRuntime, cause: unknown, origin?: ErrorReport): RpcError {
  if (cause instanceof RpcError) return cause;
  const reference = runtime.report(cause, origin);
  if (cause instanceof PortolanError && cause.code === "unserializable") return unserializableResult(cause.message);
  return internalError(reference);
}

/** Finds the handler of a request, checks its params and runs it inside the middleware of its method. */
function dispatch(runtime: ServerRuntime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { snapshot } = runtime;
  const { method } = exchange;
  const row = exchange.peer.revision.requests.get(method);
  if (snapshot.loading && !row?.isImmediate) {
    return snapshot.loading.then(() => (exchange.isCancelled ? empty : dispatch(runtime, exchange)));
  }
  const handle = row && handlers.get(method);
  if (!row || !handle) {
    if (!hasExtras(snapshot.parts)) throw methodNotFound(method);
    return withExtra(exchange, ({ serveExtra }) => serveExtra(runtime, exchange));
  }
  if (row.capability !== undefined && !snapshot.offered[row.capability]) throw methodNotFound(method);
  checkParams(row, exchange);
  const chain = snapshot.chain(method, runtime);
  if (chain.length === 0) return handle(runtime, exchange);
  return runAround(chain, exchange, (current) => handle(runtime, current));
}

export function checkParams(row: Pick<MethodRow, "params">, exchange: ServedExchange): void {
  const problem = row.params(exchange.params, "params");
  if (problem !== undefined) throw invalidParams(problem);
}

type Handler = (runtime: ServerRuntime, exchange: ServedExchange) => MaybePromise<Outcome>;

// Loaded with the first request that needs them: a server of tools starts without them.
export const description: Lazy<typeof import("./describe.ts")> = /* @__PURE__ */ new Lazy(
  () => import("./describe.ts"),
);
export const resources: Lazy<typeof import("./resources.ts")> = /* @__PURE__ */ new Lazy(
  () => import("./resources.ts"),
);
export const prompts: Lazy<typeof import("./prompts.ts")> = /* @__PURE__ */ new Lazy(() => import("./prompts.ts"));
export const listening: Lazy<typeof import("../subscribe/listen.ts")> = /* @__PURE__ */ new Lazy(
  () => import("../subscribe/listen.ts"),
);

function lazily<Module>(module: Lazy<Module>, handlerOf: (loaded: Module) => Handler): Handler {
  return (runtime, exchange) => {
    if (module.loaded) return handlerOf(module.loaded)(runtime, exchange);
    return whenDone(module.get(), (loaded) => (exchange.isCancelled ? empty : handlerOf(loaded)(runtime, exchange)));
  };
}

const empty = complete({});
const listFeatures = lazily(description, (loaded) => loaded.listFeatures);

/** Returns the handler of a method of the protocol. */
export function handlerOf(method: string): Handler | undefined {
  return handlers.get(method);
}

/** The handler of each method. Every other fact about a method stands in its row in `protocol/revisions`. */
const handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ["tools/call", callTool],
  ["tools/list", listFeatures],
  ["resources/read", lazily(resources, (loaded) => loaded.readResource)],
  ["resources/list", listFeatures],
  ["resources/templates/list", listFeatures],
  ["resources/subscribe", lazily(listening, (loaded) => loaded.subscribe)],
  ["resources/unsubscribe", unsubscribe],
  ["prompts/get", lazily(prompts, (loaded) => loaded.getPrompt)],
  ["prompts/list", listFeatures],
  ["completion/complete", lazily(prompts, (loaded) => loaded.completeArgument)],
  ["logging/setLevel", setLevel],
  ["subscriptions/listen", lazily(listening, (loaded) => loaded.listen)],
  ["server/discover", lazily(description, (loaded) => loaded.discover)],
  ["initialize", lazily(description, (loaded) => loaded.initialize)],
  ["ping", () => empty],
]);

function unsubscribe(_: ServerRuntime, exchange: ServedExchange): MaybePromise<Outcome> {
  return whenDone(exchange.session?.unsubscribe(exchange.params["uri"] as string), () => empty);
}

function setLevel(_: ServerRuntime, exchange: ServedExchange): MaybePromise<Outcome> {
  return whenDone(exchange.session?.setLogLevel(exchange.params["level"] as LogLevel), () => empty);
}

/**
 * Hands a notification of a stateful client to the handlers of the server and of its extensions, if there are any. Returns
 * a promise while the part that does so is loading.
 */
export function handleNotification(
  runtime: ServerRuntime,
  peer: Peer,
  method: string,
  params: JsonObject,
): MaybePromise<void> {
  if (!hasExtras(runtime.snapshot.parts)) return;
  return whenDone(extra.get(), ({ notifyHandlers }) => notifyHandlers(runtime, peer, method, params));
}

function hasExtras({ methods, notifications, extensions }: Parts): boolean {
  return methods.size + notifications.size + extensions.length > 0;
}
