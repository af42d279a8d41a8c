import { type MaybePromise, whenDone } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams, methodNotFound, missingCapability } from "../../protocol/errors.ts";
import type { MethodRow } from "../../protocol/revision.ts";
import { complete, type Outcome } from "../../protocol/revision.ts";
import { perRequestVersions } from "../../protocol/revisions/index.ts";
import type { LogLevel } from "../../protocol/types/index.ts";
import type { Snapshot } from "../define/snapshot.ts";
import { type ExtraMethod, knows } from "../extension.ts";
import { runAround } from "../middleware.ts";
import type { Runtime } from "../subscribe/runtime.ts";
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

/** Loaded when it is first needed: a server of tools starts without it. */
let features: typeof import("./features.ts") | undefined;

function lazily(name: keyof typeof import("./features.ts")): Handler {
  return (runtime, exchange) => {
    if (features) return features[name](runtime, exchange);
    return import("./features.ts").then((loaded) => {
      features = loaded;
      return unlessCancelled(exchange, () => loaded[name](runtime, exchange));
    });
  };
}

const always = () => true;
const empty = complete({});
const listWithTemplates = lazily("listWithTemplates");

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["tools/call", { isOffered: (s) => s.isLive || s.tools.size > 0, handle: callTool }],
  ["tools/list", { isOffered: (s) => s.isLive || s.tools.size > 0, handle: (r, x) => r.snapshot.tools.page(x) }],
  ["resources/read", { isOffered: (s) => s.offersResources, handle: lazily("readResource") }],
  ["resources/list", { isOffered: (s) => s.offersResources, handle: listResources }],
  ["resources/templates/list", { isOffered: (s) => s.offersResources, handle: (r, x) => r.snapshot.templates.page(x) }],
  ["resources/subscribe", { isOffered: (s) => s.offersSubscriptions, handle: lazily("subscribe") }],
  ["resources/unsubscribe", { isOffered: (s) => s.offersSubscriptions, handle: unsubscribe }],
  ["prompts/get", { isOffered: (s) => s.isLive || s.prompts.size > 0, handle: lazily("getPrompt") }],
  ["prompts/list", { isOffered: (s) => s.isLive || s.prompts.size > 0, handle: (r, x) => r.snapshot.prompts.page(x) }],
  ["completion/complete", { isOffered: (s) => s.completes, handle: lazily("completeArgument") }],
  ["logging/setLevel", { isOffered: (s) => s.logging, handle: setLevel }],
  ["subscriptions/listen", { isOffered: always, handle: lazily("listen") }],
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
