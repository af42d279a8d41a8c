import type { JsonObject, Message, RequestId } from "portolan";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless, type RevisionDate } from "../../../kit/revisions.ts";
import type { End, Hearing } from "./endpoints.ts";

/** A message of the client, with all members optional so that tests can look at any. */
export interface Sent {
  jsonrpc?: string;
  id?: RequestId;
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into params of every shape
  params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: and into results
  result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: and into errors
  error?: { code: number; message: string; data?: any };
}

export type Request = Sent & { id: RequestId; method: string };

/** Replies to one request: a result, or nothing to leave it open; throw what `refusal` makes to answer with an error. */
export type Handler = (request: Request, server: ScriptedServer) => JsonObject | undefined | Promise<JsonObject>;

export interface Script {
  /** What is done about each method, beside what every server does. */
  readonly on?: { readonly [method: string]: Handler };
  /** The capabilities that are declared; all of them unless said. */
  readonly offers?: JsonObject;
  /** Members of the answer to the handshake or to `server/discover`. */
  readonly says?: JsonObject;
}

/** An error to answer with. */
export function refusal(code: number, message = "refused", data?: unknown): Error {
  return Object.assign(new Error(message), { answer: { code, message, ...(data !== undefined && { data }) } });
}

const offer = { tools: { listChanged: true }, prompts: { listChanged: true } };
const everything = { ...offer, resources: { subscribe: true, listChanged: true }, logging: {}, completions: {} };
const identity = { name: "scripted", version: "1.0.0" };
const cacheable = ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"];

/** What waits for a client that is gone. */
class ClientLeft extends Error {}

/** A server in its barest form: it speaks one revision, replies as it is told, and remembers everything. */
export class ScriptedServer implements Hearing {
  readonly revision: RevisionDate;
  /** Every message of the client, oldest first; members of batches one by one. */
  readonly sent: Sent[] = [];
  readonly batches: Message[][] = [];
  readonly lines: string[] = [];
  readonly notes: string[] = [];
  /** The methods of the questions that were asked, by id. */
  readonly asked: Map<RequestId, string> = new Map();
  /** How often a connection was made. */
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

  heard(value: Message | Message[]): void {
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

  /** The requests or notifications of a method, as they came. */
  of(method: string): Request[] {
    return this.sent.filter((message): message is Request => message.method === method);
  }

  /** The methods of all that came, in order. */
  get methods(): (string | undefined)[] {
    return this.sent.map(({ method }) => method);
  }

  /** Sends a value as one message, whatever it is. */
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

  /** Asks the client, and resolves to its response. */
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

  /** Waits for something that came or will come. */
  async until<T>(find: (server: this) => T | undefined | false): Promise<T> {
    for (;;) {
      const found = find(this);
      if (found !== undefined && found !== false) return found;
      if (this.#isClosed) throw new ClientLeft(`the client left before that; it sent ${JSON.stringify(this.sent)}`);
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** The next request of a method that is not among those that came before. */
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
      // There is nobody left to answer.
      if (thrown instanceof ClientLeft) return;
      const { answer } = thrown as { answer?: { code: number; message: string; data?: unknown } };
      if (!answer) throw thrown;
      this.error(id, answer.code, answer.message, answer.data);
    }
  }

  /** A result with what the revision puts into every one. */
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
