import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import {
  type Channel,
  createMemoryPair,
  type JsonObject,
  LineReader,
  type Message,
  type RequestId,
  type RpcNotification,
  type RpcRequest,
  serialize,
} from "portolan";
import { type Servable, serveChannel } from "portolan/server";
import { quickServer } from "./quick-servers.mjs";
import { isStateless, type RevisionDate, type Transport } from "./revisions.ts";

/** A response as received. Both members are optional, so that tests can read either. */
export interface RawResponse {
  id?: RequestId | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: error data has every shape too
  error?: { code: number; message: string; data?: any };
}

/** Answers a request of the server with a result; throwing `{ code, message }` answers with an error. */
export type Answer = (question: RpcRequest) => JsonObject | Promise<JsonObject>;

export interface RawPeerOptions {
  revision: RevisionDate;
  capabilities?: JsonObject;
  clientInfo?: JsonObject;
  /** Answers requests of the server. Without it they stay open. */
  answer?: Answer;
  /** False leaves the handshake of a stateful revision to the test. */
  handshake?: boolean;
  /** Added to the `_meta` of every stateless request. */
  meta?: JsonObject;
}

export const metaKey = (name: string): string => `io.modelcontextprotocol/${name}`;

/** A minimal client: it uses one revision, answers with the given function and records every message. */
export class RawPeer {
  readonly revision: RevisionDate;
  readonly notifications: RpcNotification[] = [];
  readonly questions: RpcRequest[] = [];
  /** Responses without a pending request: errors without id, duplicates. */
  readonly strays: RawResponse[] = [];
  readonly batches: Message[][] = [];
  /** Every message in order: `> ` for sent ones, `< ` for received ones. */
  readonly transcript: string[] = [];
  initialized: RawResponse | undefined;
  readonly #channel: Channel;
  readonly #options: RawPeerOptions;
  readonly #waiting = new Map<RequestId, (response: RawResponse) => void>();
  #watchers: (() => void)[] = [];
  #nextId = 1;
  #isClosed = false;

  constructor(channel: Channel, options: RawPeerOptions) {
    this.revision = options.revision;
    this.#options = options;
    this.#channel = channel;
    channel.open({
      message: (message) => this.#receive(message),
      batch: (messages) => {
        this.transcript.push(`< ${JSON.stringify(messages)}`);
        this.batches.push(messages);
        for (const message of messages) if (!("method" in message)) this.#settle(message);
        this.#wake();
      },
      unreadable: ({ why }) => {
        throw new Error(`the server sent something that is not a message: ${why}`);
      },
      closed: () => {
        this.#isClosed = true;
        // No more messages will arrive: a waiting test fails now instead of at its time limit.
        for (const [id, settle] of this.#waiting)
          settle({ id, error: { code: 0, message: "the connection was closed" } });
        this.#wake();
      },
    });
  }

  /** Performs the handshake if the revision has one. */
  async start(): Promise<this> {
    if (isStateless(this.revision) || this.#options.handshake === false) return this;
    const { capabilities = {}, clientInfo = { name: "raw-peer", version: "1.0.0" } } = this.#options;
    this.initialized = await this.request("initialize", { protocolVersion: this.revision, capabilities, clientInfo });
    this.notify("notifications/initialized");
    return this;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The `_meta` of a request: on stateless revisions with version, capabilities and client info. */
  meta(more: JsonObject = {}): JsonObject {
    if (!isStateless(this.revision)) return more;
    const { capabilities = {}, clientInfo = { name: "raw-peer", version: "1.0.0" }, meta } = this.#options;
    return {
      [metaKey("protocolVersion")]: this.revision,
      [metaKey("clientCapabilities")]: capabilities,
      [metaKey("clientInfo")]: clientInfo,
      ...meta,
      ...more,
    };
  }

  /** Sends a request and resolves to its response, a result or an error. */
  request(method: string, params: JsonObject = {}, id: RequestId = this.#nextId++): Promise<RawResponse> {
    return this.requestExactly({ jsonrpc: "2.0", id, method, params: this.describe(params) });
  }

  /** Adds the metadata that this revision requires to params. */
  describe(params: JsonObject): JsonObject {
    const _meta = this.meta(params["_meta"] as JsonObject | undefined);
    return Object.keys(_meta).length === 0 ? params : { ...params, _meta };
  }

  /** Sends a request unchanged. */
  requestExactly(request: RpcRequest): Promise<RawResponse> {
    const response = new Promise<RawResponse>((resolve) => this.#waiting.set(request.id, resolve));
    this.send(request);
    return response;
  }

  /** Calls a tool; on stateless revisions it answers the server's requests and retries until there is a result. */
  async callTool(name: string, args?: JsonObject, more: JsonObject = {}): Promise<RawResponse> {
    const params: JsonObject = { name, ...(args && { arguments: args }), ...more };
    return this.converse("tools/call", params);
  }

  /** Sends a request, answers `input_required` rounds with the peer's answers, and resolves to the last response. */
  async converse(method: string, params: JsonObject): Promise<RawResponse> {
    let response = await this.request(method, params);
    for (let round = 0; response.result?.resultType === "input_required" && this.#options.answer; round += 1) {
      if (round > 20) throw new Error("no result after 20 rounds");
      const { inputRequests = {}, requestState } = response.result;
      const inputResponses: JsonObject = {};
      for (const [key, question] of Object.entries(inputRequests)) {
        const asked = { jsonrpc: "2.0", id: key, ...(question as { method: string }) } as RpcRequest;
        this.questions.push(asked);
        inputResponses[key] = await this.#options.answer(asked);
      }
      response = await this.request(method, {
        ...params,
        inputResponses,
        ...(requestState !== undefined && { requestState }),
      });
    }
    return response;
  }

  notify(method: string, params?: JsonObject): void {
    this.send(params ? { jsonrpc: "2.0", method, params } : { jsonrpc: "2.0", method });
  }

  send(message: Message): void {
    this.transcript.push(`> ${JSON.stringify(message)}`);
    this.#channel.send(message);
  }

  /** Sends a batch. Its responses settle their requests and are one entry of `batches`. */
  sendBatch(messages: Message[]): void {
    this.transcript.push(`> ${JSON.stringify(messages)}`);
    this.#channel.send(messages as Parameters<Channel["send"]>[0]);
  }

  /** Resolves to the response to an id that is sent otherwise, for example in a batch or as raw text. */
  responseTo(id: RequestId): Promise<RawResponse> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** Waits until a condition on the received messages holds. */
  async until<T>(find: (peer: this) => T | undefined | false): Promise<T> {
    for (;;) {
      const found = find(this);
      if (found !== undefined && found !== false) return found;
      if (this.#isClosed) throw new Error("the connection was closed before the condition held");
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** Resolves to the first matching notification, received or future. */
  notification(method: string, fits: (params: JsonObject) => boolean = () => true): Promise<RpcNotification> {
    return this.until(({ notifications }) => notifications.find((n) => n.method === method && fits(n.params ?? {})));
  }

  /** Waits for all earlier messages of the server: a request is answered after them. */
  async settled(): Promise<void> {
    await this.request(isStateless(this.revision) ? "server/discover" : "ping");
  }

  async close(): Promise<void> {
    await this.#channel.close();
    await this.until((peer) => peer.isClosed).catch(() => {});
  }

  #receive(message: Message): void {
    this.transcript.push(`< ${JSON.stringify(message)}`);
    if (!("method" in message)) this.#settle(message);
    else if ("id" in message) this.#answer(message);
    else this.notifications.push(message);
    this.#wake();
  }

  #settle(response: RawResponse): void {
    const settle = response.id === undefined || response.id === null ? undefined : this.#waiting.get(response.id);
    if (!settle || response.id === undefined || response.id === null) this.strays.push(response);
    else {
      this.#waiting.delete(response.id);
      settle(response);
    }
  }

  async #answer(question: RpcRequest): Promise<void> {
    this.questions.push(question);
    const { answer } = this.#options;
    if (!answer) return;
    try {
      this.send({ jsonrpc: "2.0", id: question.id, result: await answer(question) });
    } catch (error) {
      const { code = -32603, message = "refused" } = error as { code?: number; message?: string };
      this.send({ jsonrpc: "2.0", id: question.id, error: { code, message } });
    }
  }

  #wake(): void {
    for (const wake of this.#watchers.splice(0)) wake();
  }
}

/** Connects to a server in this process; every message is serialized and parsed. */
export async function connectMemory(server: Servable, options: RawPeerOptions): Promise<RawPeer> {
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(server, far);
  return new RawPeer(near, options).start();
}

/** A child process as a channel: newline-delimited JSON over its standard input and output. */
export class ChildChannel implements Channel {
  readonly child: ChildProcessWithoutNullStreams;
  stderr = "";
  readonly exited: Promise<number | null>;

  constructor(command: string, args: string[], env: Record<string, string> = {}) {
    this.child = spawn(command, args, { stdio: "pipe", env: { ...process.env, ...env } });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.child.stdin.on("error", () => {});
    this.exited = once(this.child, "exit").then(([code]) => code);
  }

  open(incoming: Parameters<Channel["open"]>[0]): void {
    const reader = new LineReader(incoming, { maxBytes: 1 << 30 });
    this.child.stdout.on("data", (chunk: Buffer) => reader.push(chunk));
    this.child.stdout.on("close", () => incoming.closed());
  }

  send(message: Parameters<Channel["send"]>[0]): void {
    this.child.stdin.write(`${serialize(message)}\n`);
  }

  /** Writes raw bytes. */
  write(bytes: string | Uint8Array): void {
    this.child.stdin.write(bytes);
  }

  async close(): Promise<void> {
    this.child.stdin.end();
    await this.exited;
  }
}

const runner = fileURLToPath(new URL("./serve.mjs", import.meta.url));

/** Connects to a child process that serves the default export of a module over stdio. */
export async function connectStdio(
  module: string | URL,
  options: RawPeerOptions,
  env: Record<string, string> = {},
): Promise<RawPeer & { readonly channel: ChildChannel }> {
  const path = module instanceof URL ? fileURLToPath(module) : module;
  const channel = new ChildChannel(process.execPath, [runner, quickServer(path)], env);
  const peer = Object.assign(new RawPeer(channel, options), { channel });
  return peer.start();
}

/** Connects over either transport to the default export of a module. */
export async function connect(module: URL, transport: Transport, options: RawPeerOptions): Promise<RawPeer> {
  if (transport === "stdio") return connectStdio(module, options);
  const { default: server } = await import(module.href);
  return connectMemory(typeof server === "function" ? server() : server, options);
}
