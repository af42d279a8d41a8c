import type { JsonObject, Message, RequestId } from "portolan";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless, type RevisionDate } from "../../../kit/revisions.ts";
import type { End, ServerEvents } from "./endpoints.ts";

/** A message of the client. All members are optional, so that tests can read any of them. */
export interface Sent {
  jsonrpc?: string;
  id?: RequestId;
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read params of every shape
  params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape
  result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: tests read errors of every shape
  error?: { code: number; message: string; data?: any };
}

export type Request = Sent & { id: RequestId; method: string };

/** Replies to one request with a result; undefined leaves it open; throwing a `refusal` answers with an error. */
export type Handler = (request: Request, server: ScriptedServer) => JsonObject | undefined | Promise<JsonObject>;

export interface Script {
  /** Handlers by method; other methods get a default answer. */
  readonly on?: { readonly [method: string]: Handler };
  /** The declared capabilities. Default: all. */
  readonly offers?: JsonObject;
  /** Members of the answer to the handshake or to `server/discover`. */
  readonly says?: JsonObject;
}

/** Creates an error for a handler to throw; the server answers with it. */
export function refusal(code: number, message = "refused", data?: unknown): Error {
  return Object.assign(new Error(message), { answer: { code, message, ...(data !== undefined && { data }) } });
}

const offer = { tools: { listChanged: true }, prompts: { listChanged: true } };
const everything = { ...offer, resources: { subscribe: true, listChanged: true }, logging: {}, completions: {} };
const identity = { name: "scripted", version: "1.0.0" };
const cacheable = ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"];

/** Thrown by waits for a client that has disconnected. */
class ClientDisconnected extends Error {}

/** A minimal server: it uses one revision, replies by its script and records every message. */
export class ScriptedServer implements ServerEvents {
  readonly revision: RevisionDate;
  /** Every message of the client, oldest first; members of batches one by one. */
  readonly sent: Sent[] = [];
  readonly batches: Message[][] = [];
  readonly lines: string[] = [];
  readonly notes: string[] = [];
  /** The methods of the server's own requests, by id. */
  readonly asked: Map<RequestId, string> = new Map();
  /** The number of connections. */
  starts = 0;
  readonly #script: Script;
  #end: End | undefined;
  #isClosed = false;
  #watchers: (() => void)[] = [];
  #lastQuestion = 0;

  constructor(revision: RevisionDate, script: Script) {
    this.revision = revision;
    this.#script = script;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get end(): End {
    if (!this.#end) throw new Error("no client has connected yet");
    return this.#end;
  }

  opened(end: End): void {
    this.#end = end;
    this.#isClosed = false;
    this.starts += 1;
  }

  received(value: Message | Message[]): void {
    if (Array.isArray(value)) this.batches.push(value);
    for (const message of [value].flat() as Sent[]) {
      this.sent.push(message);
      if (message.method !== undefined && message.id !== undefined) this.#reply(message as Request);
    }
    this.#wake();
  }

  line(text: string): void {
    this.lines.push(text);
  }

  noted(text: string): void {
    this.notes.push(text);
    this.#wake();
  }

  closed(): void {
    this.#isClosed = true;
    this.#wake();
  }

  /** The received requests or notifications of a method. */
  of(method: string): Request[] {
    return this.sent.filter((message): message is Request => message.method === method);
  }

  /** The methods of all received messages, in order. */
  get methods(): (string | undefined)[] {
    return this.sent.map(({ method }) => method);
  }

  /** Sends any value as one message. */
  send(value: unknown): void {
    this.end.send(value);
  }

  result(id: RequestId, result: unknown): void {
    this.send({ jsonrpc: "2.0", id, result });
  }

  error(id: RequestId, code: number, message: string, data?: unknown): void {
    this.send({ jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } });
  }

  notify(method: string, params?: JsonObject): void {
    this.send({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  /** Sends a request to the client and resolves to its response. */
  ask(method: string, params?: JsonObject, id: RequestId = this.nextQuestion()): Promise<Sent> {
    this.asked.set(id, method);
    this.send({ jsonrpc: "2.0", id, method, ...(params && { params }) });
    return this.until(() => this.responseTo(id));
  }

  nextQuestion(): RequestId {
    this.#lastQuestion += 1;
    return `question ${this.#lastQuestion}`;
  }

  responseTo(id: RequestId): Sent | undefined {
    return this.sent.find((message) => message.method === undefined && message.id === id);
  }

  /** Resolves when the condition holds for the received messages. */
  async until<T>(find: (server: this) => T | undefined | false): Promise<T> {
    for (;;) {
      const found = find(this);
      if (found !== undefined && found !== false) return found;
      if (this.#isClosed)
        throw new ClientDisconnected(`the client disconnected before that; it sent ${JSON.stringify(this.sent)}`);
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** Resolves to the nth request of a method. */
  arrival(method: string, nth = 1): Promise<Request> {
    return this.until(() => this.of(method)[nth - 1]);
  }

  async #reply(request: Request): Promise<void> {
    const { id, method } = request;
    try {
      const handler = Object.hasOwn(this.#script.on ?? {}, method) ? this.#script.on?.[method] : undefined;
      const result = handler ? await handler(request, this) : this.#usual(request);
      if (result !== undefined) this.result(id, this.complete(method, result));
    } catch (thrown) {
      // The client has disconnected.
      if (thrown instanceof ClientDisconnected) return;
      const { answer } = thrown as { answer?: { code: number; message: string; data?: unknown } };
      if (!answer) throw thrown;
      this.error(id, answer.code, answer.message, answer.data);
    }
  }

  /** Adds the members that the revision requires in every result. */
  complete(method: string, result: JsonObject): JsonObject {
    if (!isStateless(this.revision) || result["resultType"] !== undefined) return result;
    const hints = cacheable.includes(method) || method === "resources/read" ? { ttlMs: 0, cacheScope: "private" } : {};
    return { resultType: "complete", ...hints, ...result };
  }

  #usual({ id, method, params }: Request): JsonObject | undefined {
    const { offers = everything, says } = this.#script;
    if (isStateless(this.revision)) {
      if (method === "server/discover") {
        const _meta = { [metaKey("serverInfo")]: identity };
        return { supportedVersions: [this.revision], capabilities: offers, _meta, ...says };
      }
      if (method === "subscriptions/listen") {
        this.notify("notifications/subscriptions/acknowledged", {
          notifications: params.notifications,
          _meta: { [metaKey("subscriptionId")]: id },
        });
        return undefined;
      }
    } else if (method === "initialize") {
      return { protocolVersion: this.revision, capabilities: offers, serverInfo: identity, ...says };
    } else if (Object.hasOwn(onlyStateful, method)) return {};
    const answer = Object.hasOwn(answers, method) ? answers[method] : undefined;
    if (!answer) throw refusal(-32601, `Method not found: ${method}`);
    return answer(params ?? {});
  }

  #wake(): void {
    for (const wake of this.#watchers.splice(0)) wake();
  }
}

const onlyStateful = { ping: 1, "logging/setLevel": 1, "resources/subscribe": 1, "resources/unsubscribe": 1 };

const answers: { readonly [method: string]: (params: JsonObject) => JsonObject } = {
  "tools/list": () => ({ tools: [] }),
  "tools/call": () => ({ content: [{ type: "text", text: "done" }] }),
  "resources/list": () => ({ resources: [] }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "resources/read": ({ uri }) => ({ contents: [{ uri, text: "read" }] }),
  "prompts/list": () => ({ prompts: [] }),
  "prompts/get": () => ({ messages: [] }),
  "completion/complete": () => ({ completion: { values: [] } }),
};
