import { isPromise, Lazy, type MaybePromise, whenDone } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { Prepared } from "../../jsonrpc/channel.ts";
import { type JsonObject, RpcError, type RpcResponse } from "../../jsonrpc/message.ts";
import {
  internalError,
  invalidParams,
  methodNotFound,
  missingCapability,
  unserializableResult,
} from "../../protocol/errors.ts";
import { complete, type MethodRow, type Outcome, type Peer } from "../../protocol/revision.ts";
import { perRequestVersions } from "../../protocol/revisions/index.ts";
import type { LogLevel } from "../../protocol/types/index.ts";
import type { Snapshot } from "../define/snapshot.ts";
import { type ExtraMethod, knows, runAround } from "../extension.ts";
import type { Runtime } from "../subscribe/hub.ts";
import { callTool } from "./call-tool.ts";
import type { ServedExchange } from "./exchange.ts";

type Handler = (runtime: Runtime, exchange: ServedExchange) => MaybePromise<Outcome>;

interface Method {
  /** Needs no feature, and so is answered while some still load. */
  readonly isImmediate?: boolean;
  /** Whether this server has what the method is about. */
  readonly isOffered: (snapshot: Snapshot) => boolean;
  readonly handle: Handler;
}

/** Handlers that are loaded with their first request: a server of tools starts without them. */
const resources = new Lazy(() => import("./resources.ts"));
const prompts = new Lazy(() => import("./prompts.ts"));
const listening = new Lazy(() => import("../subscribe/listen.ts"));

function lazily<Module>(module: Lazy<Module>, handlerOf: (loaded: Module) => Handler): Handler {
  return (runtime, exchange) => {
    if (module.loaded) return handlerOf(module.loaded)(runtime, exchange);
    return whenDone(module.get(), (loaded) => unlessCancelled(exchange, () => handlerOf(loaded)(runtime, exchange)));
  };
}

const always = () => true;
const empty = complete({});
const listWithTemplates = lazily(resources, (loaded) => loaded.listWithTemplates);

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["tools/call", { isOffered: (s) => s.isLive || s.tools.size > 0, handle: callTool }],
  ["tools/list", { isOffered: (s) => s.isLive || s.tools.size > 0, handle: (r, x) => r.snapshot.tools.page(x) }],
  [
    "resources/read",
    { isOffered: (s) => s.offersResources, handle: lazily(resources, (loaded) => loaded.readResource) },
  ],
  ["resources/list", { isOffered: (s) => s.offersResources, handle: listResources }],
  ["resources/templates/list", { isOffered: (s) => s.offersResources, handle: (r, x) => r.snapshot.templates.page(x) }],
  [
    "resources/subscribe",
    { isOffered: (s) => s.offersSubscriptions, handle: lazily(listening, (loaded) => loaded.subscribe) },
  ],
  ["resources/unsubscribe", { isOffered: (s) => s.offersSubscriptions, handle: unsubscribe }],
  [
    "prompts/get",
    { isOffered: (s) => s.isLive || s.prompts.size > 0, handle: lazily(prompts, (loaded) => loaded.getPrompt) },
  ],
  ["prompts/list", { isOffered: (s) => s.isLive || s.prompts.size > 0, handle: (r, x) => r.snapshot.prompts.page(x) }],
  [
    "completion/complete",
    { isOffered: (s) => s.completes, handle: lazily(prompts, (loaded) => loaded.completeArgument) },
  ],
  ["logging/setLevel", { isOffered: (s) => s.logging, handle: setLevel }],
  ["subscriptions/listen", { isOffered: always, handle: lazily(listening, (loaded) => loaded.listen) }],
  ["server/discover", { isOffered: always, isImmediate: true, handle: discover }],
  ["initialize", { isOffered: always, isImmediate: true, handle: initialize }],
  ["ping", { isOffered: always, isImmediate: true, handle: () => empty }],
]);

/** Serves one request: its row, its params, its middleware, its handler. Knows nothing of how it came here. */
export function dispatch(runtime: Runtime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { snapshot } = runtime;
  const { method } = exchange;
  const row = exchange.peer.revision.requests.get(method);
  const known = row && methods.get(method);
  if (snapshot.loading && !known?.isImmediate) {
    return snapshot.loading.then(() => unlessCancelled(exchange, () => dispatch(runtime, exchange)));
  }
  if (!row || !known) return dispatchExtra(runtime, exchange);
  if (!known.isOffered(snapshot)) throw methodNotFound(method);
  checkParams(row, exchange);
  const chain = snapshot.chain(method);
  if (chain.length === 0) return known.handle(runtime, exchange);
  return runAround(chain, exchange, (current) => known.handle(runtime, current));
}

/** What was cancelled while code was loaded for it does not begin; its outcome goes nowhere. */
function unlessCancelled(exchange: ServedExchange, begin: () => MaybePromise<Outcome>): MaybePromise<Outcome> {
  return exchange.isCancelled ? empty : begin();
}

function checkParams(row: Pick<MethodRow, "params">, exchange: ServedExchange): void {
  const problem = row.params(exchange.params, "params");
  if (problem !== undefined) throw invalidParams(problem);
}

/** Methods beyond the protocol: the server's own, and those of extensions that the peer declared. */
function dispatchExtra(runtime: Runtime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { snapshot } = runtime;
  const { method, peer } = exchange;
  let extra: ExtraMethod | undefined = snapshot.parts.methods.get(method);
  if (!extra && snapshot.parts.extensions.length > 0) {
    const found = snapshot.extensionsOn(peer.revision).find(([, parts]) => Object.hasOwn(parts.requests ?? {}, method));
    if (found) {
      const [{ id }, parts] = found;
      if (!knows(peer, id)) throw missingCapability({ extensions: { [id]: {} } }, method);
      extra = parts.requests?.[method];
    }
  }
  if (!extra) throw methodNotFound(method);
  const handler = extra;
  if (handler.params) checkParams({ params: handler.params }, exchange);
  return runAround(snapshot.chain(method), exchange, (current) =>
    whenDone<JsonObject | Outcome, Outcome>(handler.handle(current), (value) =>
      isOutcome(value) ? value : complete(value),
    ),
  );
}

function isOutcome(value: JsonObject | Outcome): value is Outcome {
  const { kind } = value;
  return kind === "complete" || kind === "extended" || kind === "input_required";
}

function initialize(runtime: Runtime, { peer }: ServedExchange): Outcome {
  const { info, options } = runtime.snapshot;
  const { instructions } = options;
  return complete({
    protocolVersion: peer.revision.version,
    capabilities: runtime.snapshot.capabilities(peer),
    serverInfo: info,
    instructions,
  });
}

function discover(runtime: Runtime, { peer }: ServedExchange): Outcome {
  const { instructions, cache } = runtime.snapshot.options;
  return complete({
    supportedVersions: perRequestVersions,
    capabilities: runtime.snapshot.capabilities(peer),
    instructions,
    ...cache,
  });
}

function listResources(runtime: Runtime, exchange: ServedExchange): MaybePromise<Outcome> {
  const { snapshot } = runtime;
  return snapshot.listsTemplates ? listWithTemplates(runtime, exchange) : snapshot.resources.page(exchange);
}

function unsubscribe(_: Runtime, exchange: ServedExchange): MaybePromise<Outcome> {
  return whenDone(exchange.session?.unsubscribe(exchange.params["uri"] as string), () => empty);
}

function setLevel(_: Runtime, exchange: ServedExchange): MaybePromise<Outcome> {
  return whenDone(exchange.session?.setLogLevel(exchange.params["level"] as LogLevel), () => empty);
}

/** Takes the one answer to a request, and the error it tells of; throws when the answer has no JSON form. */
export type SendReply = (response: RpcResponse | Prepared, error?: RpcError) => void;

/** Serves one request to its end: one reply, or none when it is cancelled. A promise is returned only while it runs. */
export function serveExchange(runtime: Runtime, exchange: ServedExchange, reply: SendReply): Promise<void> | undefined {
  try {
    const outcome = dispatch(runtime, exchange);
    if (isPromise(outcome)) {
      return outcome.then(
        (done) => answer(runtime, exchange, done, reply),
        (cause) => fail(runtime, exchange, cause, reply),
      );
    }
    answer(runtime, exchange, outcome, reply);
  } catch (cause) {
    fail(runtime, exchange, cause, reply);
  }
  return undefined;
}

function answer(runtime: Runtime, exchange: ServedExchange, outcome: Outcome, reply: SendReply): void {
  if (exchange.isCancelled) return;
  exchange.end();
  const { id, method, peer } = exchange;
  try {
    if (exchange.back.writesText || outcome.kind === "prepared") {
      reply({ id, resultText: peer.revision.encodeResultText(method, outcome, runtime.snapshot) });
    } else reply({ jsonrpc: "2.0", id, result: peer.revision.encodeResult(method, outcome, runtime.snapshot) });
  } catch (cause) {
    replyError(runtime, exchange, cause, reply);
  }
}

function fail(runtime: Runtime, exchange: ServedExchange, cause: unknown, reply: SendReply): void {
  if (exchange.isCancelled) return;
  exchange.end();
  replyError(runtime, exchange, cause, reply);
}

function replyError(runtime: Runtime, { id, method, peer }: ServedExchange, cause: unknown, reply: SendReply): void {
  const failure = toRpcError(runtime, cause, method);
  const error = peer.revision.encodeError(failure);
  try {
    reply({ jsonrpc: "2.0", id, error }, failure);
  } catch (unserializable) {
    // The data of an error may have no JSON form either; its code and message always do.
    runtime.report(unserializable, method);
    reply({ jsonrpc: "2.0", id, error: { code: error.code, message: error.message } }, failure);
  }
}

/** What the peer is told about an error: all of its own, and of ours no more than a reference. */
export function toRpcError(runtime: Runtime, cause: unknown, method: string): RpcError {
  if (cause instanceof RpcError) return cause;
  const reference = runtime.report(cause, method);
  if (cause instanceof PortolanError && cause.code === "unserializable") return unserializableResult(cause.message);
  return internalError(reference);
}

/** Hands a notification of a stateful client to the server's own listeners and to those of its extensions. */
export function handleNotification(runtime: Runtime, peer: Peer, method: string, params: JsonObject): void {
  const { snapshot } = runtime;
  try {
    snapshot.parts.notifications.get(method)?.(params, peer);
    for (const [{ id }, extension] of snapshot.extensionsOn(peer.revision)) {
      const { notifications = {} } = extension;
      if (knows(peer, id) && Object.hasOwn(notifications, method)) notifications[method]?.(params, peer);
    }
  } catch (cause) {
    runtime.report(cause, method);
  }
}
