import { type JsonObject, type Message, type RequestId, type RpcRequest, rpcCodes } from "portolan";
import {
  comparableParams,
  exchangesOf,
  isSubscription,
  matchesRecorded,
  metaOf,
  type RecordedExchange,
  requestKey,
  retarget,
  subscriptionKey,
} from "./exchanges.ts";
import { type RecordedMessage, type Recording, replaceMember } from "./recording.ts";
import { redactMessage } from "./redact.ts";

/** A server that answers from a recording. The same request gets the same answer, byte for byte except its id. */
export class RecordedServer {
  readonly #exchanges: readonly RecordedExchange[];
  readonly #send: (text: string) => void;
  /** How often each request came: repeated requests get the recorded answers in order. */
  readonly #counts = new Map<string, number>();
  readonly #questions = new Map<RequestId, () => void>();
  #lastQuestion = 0;

  constructor(recording: Recording, send: (text: string) => void) {
    this.#exchanges = exchangesOf(recording);
    this.#send = send;
  }

  receive(message: Message): void {
    if (!("method" in message)) {
      if (message.id !== undefined && message.id !== null) this.#questions.get(message.id)?.();
      return;
    }
    if ("id" in message) void this.#answer(message);
  }

  async #answer(request: RpcRequest): Promise<void> {
    const exchange = this.#find(request);
    if (!exchange && request.method === "subscriptions/listen") {
      this.#sendMessage(acknowledge(request));
      return;
    }
    if (!exchange) {
      this.#sendMessage({ jsonrpc: "2.0", id: request.id, ...this.#unknown(request) });
      return;
    }
    for (const recorded of exchange.before) await this.#replay(recorded, exchange, request);
    const { answer } = exchange;
    if (answer) this.#send(replaceMember(answer.text, "id", JSON.stringify(request.id)));
    else if (!exchange.isCancelled && !isSubscription(exchange)) {
      const message = `The recording ends before ${request.method} is answered`;
      this.#sendMessage({ jsonrpc: "2.0", id: request.id, error: { code: rpcCodes.internalError, message } });
    }
    // No error for a subscription, which stays open, or for a cancelled request.
    for (const recorded of exchange.after) await this.#replay(recorded, exchange, request);
  }

  #find(request: RpcRequest): RecordedExchange | undefined {
    const same = this.#same(request);
    const [first] = same;
    if (!first) return undefined;
    const key = requestKey(first.request);
    const version = versionOf(request);
    const answered = same.filter((exchange) => exchange.answer);
    const useful = answered.length > 0 ? answered : same;
    const fitting = useful.filter((exchange) => versionOf(exchange.request) === version);
    const times = this.#counts.get(key) ?? 0;
    this.#counts.set(key, times + 1);
    const known = fitting.length > 0 ? fitting : useful;
    return known[Math.min(times, known.length - 1)];
  }

  /** Finds recorded requests that are equal: exactly, apart from secrets, or apart from the answers to questions. */
  #same(request: RpcRequest): readonly RecordedExchange[] {
    const key = requestKey(request);
    const exact = this.#exchanges.filter((exchange) => requestKey(exchange.request) === key);
    if (exact.length > 0) return exact;
    const others = this.#exchanges.filter((exchange) => exchange.request.method === request.method);
    const ways = [request, redactMessage(request)].map(comparableParams);
    const alike = others.filter((exchange) =>
      ways.some((asked) => matchesRecorded(comparableParams(exchange.request), asked)),
    );
    if (alike.length > 0 || request.params?.["inputResponses"] === undefined) return alike;
    const rounds = others.filter((exchange) => exchange.request.params?.["inputResponses"] !== undefined);
    return rounds.filter((exchange) =>
      ways.some((asked) => matchesRecorded(withoutAnswers(comparableParams(exchange.request)), withoutAnswers(asked))),
    );
  }

  /** Sends a recorded message again. If it is a question, waits for any answer. */
  async #replay({ message }: RecordedMessage, exchange: RecordedExchange, request: RpcRequest): Promise<void> {
    const said = retarget(message as unknown as JsonObject, exchange.request, request);
    if (!("id" in message && "method" in message)) {
      this.#sendMessage(said);
      return;
    }
    this.#lastQuestion += 1;
    const id = `recorded-${this.#lastQuestion}`;
    await new Promise<void>((resolve) => {
      this.#questions.set(id, resolve);
      this.#sendMessage({ ...said, id });
    });
    this.#questions.delete(id);
  }

  #unknown(request: RpcRequest): JsonObject {
    const { method, params } = request;
    const known = this.#exchanges.filter((exchange) => exchange.request.method === method);
    const result = known.length === 0 ? answerUnrecorded(request, this.#exchanges) : undefined;
    if (result) return { result };
    if (known.length === 0) {
      const methods = [...new Set(this.#exchanges.map((exchange) => exchange.request.method))].join(", ");
      return {
        error: {
          code: rpcCodes.methodNotFound,
          message: `The recording has no ${method}; it has ${methods || "nothing"}`,
        },
      };
    }
    const examples = [...new Set(known.map((exchange) => showAsked(exchange.request)))].slice(0, 10).join(" · ");
    const message = `The recording has no ${method} ${showAsked({ params })}; it has ${examples}`;
    return { error: { code: rpcCodes.invalidParams, message } };
  }

  #sendMessage(message: JsonObject): void {
    this.#send(JSON.stringify(message));
  }
}

function withoutAnswers({ inputResponses: _, ...asked }: JsonObject): JsonObject {
  return asked;
}

function showAsked({ params }: { readonly params?: JsonObject | undefined }): string {
  const { _meta, ...asked } = params ?? {};
  const text = JSON.stringify(asked);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

const versionKey = "io.modelcontextprotocol/protocolVersion";

/** Returns the revision that a stateless request names. */
function versionOf({ params }: RpcRequest): unknown {
  return metaOf(params)[versionKey];
}

/**
 * Answers requests that were not recorded but that other clients need: lists contain what was used, and settings are
 * accepted.
 */
function answerUnrecorded(request: RpcRequest, exchanges: readonly RecordedExchange[]): JsonObject | undefined {
  const { method } = request;
  if (method === "ping") return {};
  const isStateless = versionOf(request) !== undefined;
  const head = isStateless ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
  if (method === "server/discover") return introduce(exchanges);
  if (!isStateless && settings.has(method)) return {};
  if (method === "completion/complete") {
    return { ...(isStateless && { resultType: "complete" }), completion: { values: [] } };
  }
  const list = lists[method];
  return list && { ...head, ...list(exchanges) };
}

const settings = new Set(["logging/setLevel", "resources/subscribe", "resources/unsubscribe"]);

const lists: { readonly [method: string]: (exchanges: readonly RecordedExchange[]) => JsonObject } = {
  "tools/list": (exchanges) => ({
    tools: namesIn(exchanges, "tools/call", "name").map((name) => ({ name, inputSchema: { type: "object" } })),
  }),
  "prompts/list": (exchanges) => ({ prompts: namesIn(exchanges, "prompts/get", "name").map((name) => ({ name })) }),
  "resources/list": (exchanges) => ({
    resources: namesIn(exchanges, "resources/read", "uri").map((uri) => ({ uri, name: uri })),
  }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
};

function namesIn(exchanges: readonly RecordedExchange[], method: string, member: string): string[] {
  const names = exchanges
    .filter(({ request }) => request.method === method)
    .map(({ request }) => request.params?.[member]);
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

/** Returns a discovery result. A stateless client need not have asked for one. */
function introduce(exchanges: readonly RecordedExchange[]): JsonObject | undefined {
  const versions = exchanges.map(({ request }) => versionOf(request));
  const supportedVersions = [...new Set(versions.filter((version) => typeof version === "string"))];
  if (supportedVersions.length === 0) return undefined;
  const uses = (prefix: string) => exchanges.some(({ request }) => request.method.startsWith(prefix));
  const kinds = ["tools", "resources", "prompts"].filter((kind) => uses(`${kind}/`));
  const capabilities = Object.fromEntries(kinds.map((kind) => [kind, {}]));
  if (uses("completion/")) capabilities["completions"] = {};
  return { resultType: "complete", supportedVersions, capabilities, ttlMs: 0, cacheScope: "private" };
}

/** Acknowledges a subscription that was not recorded. It never reports a change. */
function acknowledge({ id, params = {} }: RpcRequest): JsonObject {
  return {
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { notifications: params["notifications"] ?? {}, _meta: { [subscriptionKey]: id } },
  };
}
