import type { Channel, JsonObject, Message, RequestId, RpcNotification, RpcRequest } from "portolan";

/** Identity and answers of a raw client. */
export interface RawClientOptions {
  /** The client's name; no message for another client may reach it. */
  name: string;
  version: string;
  /** True: sends its version and capabilities in every request. False: sends initialize. */
  isStateless: boolean;
  capabilities: JsonObject;
  answer(method: string, params: JsonObject): JsonObject;
}

type Settle = { resolve(result: JsonObject): void; reject(reason: Error): void };

/** A client without checks: it records every message that it receives. */
export class RawClient {
  readonly received: Message[] = [];
  readonly questions: RpcRequest[] = [];
  readonly notifications: RpcNotification[] = [];
  /** Responses without a pending request. */
  readonly strays: Message[] = [];
  readonly #channel: Channel;
  readonly #options: RawClientOptions;
  readonly #pending = new Map<RequestId, Settle>();
  #lastId = 0;

  constructor(channel: Channel, options: RawClientOptions) {
    this.#channel = channel;
    this.#options = options;
    channel.open({
      message: (message) => this.#receive(message),
      batch: (messages) => this.strays.push(...messages),
      unreadable: ({ why }) => {
        throw new Error(why);
      },
      closed: () => {},
    });
  }

  get name(): string {
    return this.#options.name;
  }

  async begin(): Promise<void> {
    const { name, version, capabilities, isStateless } = this.#options;
    if (isStateless) return;
    const clientInfo = { name, version: "1" };
    await this.request("initialize", { protocolVersion: version, capabilities, clientInfo });
    this.notify("notifications/initialized", {});
  }

  /** Sends a request and resolves with its result; `begun` receives its id. */
  request(method: string, params: JsonObject, begun?: (id: RequestId) => void): Promise<JsonObject> {
    this.#lastId += 1;
    const id = this.#lastId;
    begun?.(id);
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#channel.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta: this.#meta(id) } });
    });
  }

  /** Calls a tool and answers all rounds of questions. */
  async callTool(name: string, args: JsonObject, begun?: (id: RequestId) => void): Promise<JsonObject> {
    const params = { name, arguments: args };
    let result = await this.request("tools/call", params, begun);
    while (result["resultType"] === "input_required") {
      const { inputRequests, requestState } = result as { inputRequests: JsonObject; requestState: string };
      const answers = Object.entries(inputRequests).map(([key, question]) => {
        const { method, params } = question as { method: string; params: JsonObject };
        this.questions.push({ jsonrpc: "2.0", id: key, method, params });
        return [key, this.#options.answer(method, params)];
      });
      const inputResponses = Object.fromEntries(answers);
      result = await this.request("tools/call", { ...params, inputResponses, requestState }, begun);
    }
    return result;
  }

  notify(method: string, params: JsonObject): void {
    this.#channel.send({ jsonrpc: "2.0", method, params });
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  #meta(id: RequestId): JsonObject {
    const { name, version, capabilities, isStateless } = this.#options;
    if (!isStateless) return { progressToken: id };
    return {
      progressToken: id,
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": capabilities,
      "io.modelcontextprotocol/clientInfo": { name, version: "1" },
      "io.modelcontextprotocol/logLevel": "info",
    };
  }

  #receive(message: Message): void {
    this.received.push(message);
    if ("method" in message) {
      if (!("id" in message)) {
        this.notifications.push(message);
        return;
      }
      this.questions.push(message);
      const result = this.#options.answer(message.method, message.params ?? {});
      this.#channel.send({ jsonrpc: "2.0", id: message.id, result });
      return;
    }
    const id = message.id ?? undefined;
    const settle = id === undefined ? undefined : this.#pending.get(id);
    if (id === undefined || !settle) {
      this.strays.push(message);
      return;
    }
    this.#pending.delete(id);
    if ("result" in message) settle.resolve(message.result);
    else settle.reject(new Error(message.error.message));
  }
}
