import type { JsonObject, Message, RequestId, RpcRequest } from "portolan";
import { aboutRequest, exchangesOf, keyOf, metaOf, type RecordedExchange } from "./recorded-exchanges.ts";
import { type RecordedMessage, type Recording, redactMessage, replaceMember } from "./recording.ts";

const methodNotFound = -32_601;
const invalidParams = -32_602;
const versionKey = "io.modelcontextprotocol/protocolVersion";

/** A server that answers what it was seen to answer: the same request gets the same answer, byte for byte but for its id. */
export class RecordedServer {
  readonly #recording: Recording;
  readonly #exchanges: readonly RecordedExchange[];
  readonly #send: (text: string) => void;
  /** How often each request was made: what was answered differently each time is so again. */
  readonly #asked = new Map<string, number>();
  readonly #questions = new Map<RequestId, () => void>();
  #lastQuestion = 0;

  constructor(recording: Recording, send: (text: string) => void) {
    this.#recording = recording;
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
    if (!exchange) {
      this.#sendMessage({ jsonrpc: "2.0", id: request.id, ...this.#unknown(request) });
      return;
    }
    for (const recorded of exchange.before) await this.#repeat(recorded, exchange, request);
    const { answer } = exchange;
    // What was never answered is not answered now: a subscription goes on.
    if (answer) this.#send(replaceMember(answer.text, "id", JSON.stringify(request.id)));
    for (const recorded of exchange.after) await this.#repeat(recorded, exchange, request);
  }

  #find(request: RpcRequest): RecordedExchange | undefined {
    const key = keyOf(this.#recording.header.redacted ? redactMessage(request) : request);
    const same = this.#exchanges.filter((exchange) => keyOf(exchange.request) === key);
    const version = metaOf(request.params)[versionKey];
    const fitting = same.filter(({ request: { params } }) => metaOf(params)[versionKey] === version);
    const times = this.#asked.get(key) ?? 0;
    this.#asked.set(key, times + 1);
    const known = fitting.length > 0 ? fitting : same;
    return known[Math.min(times, known.length - 1)];
  }

  /** Says again what the server said during a request; waits for the answer to a question, whatever it is. */
  async #repeat({ message }: RecordedMessage, exchange: RecordedExchange, request: RpcRequest): Promise<void> {
    const said = aboutRequest(message as unknown as JsonObject, exchange.request, request);
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
    if (method === "ping") return { result: {} };
    if (method === "server/discover" && known.length === 0) {
      const result = this.#introduction();
      if (result) return { result };
    }
    if (known.length === 0) {
      const methods = [...new Set(this.#exchanges.map((exchange) => exchange.request.method))].join(", ");
      return {
        error: { code: methodNotFound, message: `The recording has no ${method}; it has ${methods || "nothing"}` },
      };
    }
    const examples = [...new Set(known.map((exchange) => askedIn(exchange.request)))].slice(0, 10).join(" · ");
    const message = `The recording has no ${method} ${askedIn({ params })}; it has ${examples}`;
    return { error: { code: invalidParams, message } };
  }

  /** What a stateless server would say of itself: clients need not have asked. */
  #introduction(): JsonObject | undefined {
    const versions = this.#exchanges.map(({ request }) => metaOf(request.params)[versionKey]);
    const supportedVersions = [...new Set(versions.filter((version) => typeof version === "string"))];
    if (supportedVersions.length === 0) return undefined;
    const uses = (prefix: string) => this.#exchanges.some(({ request }) => request.method.startsWith(prefix));
    const kinds = ["tools", "resources", "prompts"].filter((kind) => uses(`${kind}/`));
    const capabilities = Object.fromEntries(kinds.map((kind) => [kind, {}]));
    if (uses("completion/")) capabilities["completions"] = {};
    return { resultType: "complete", supportedVersions, capabilities, ttlMs: 0, cacheScope: "private" };
  }

  #sendMessage(message: JsonObject): void {
    this.#send(JSON.stringify(message));
  }
}

function askedIn({ params }: { readonly params?: JsonObject | undefined }): string {
  const { _meta, ...asked } = params ?? {};
  const text = JSON.stringify(asked);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
