import type { Inbox } from "./inbox.ts";
import { at, isObject, type JsonObject, listAt, show } from "./json.ts";
import { check, ExpectationFailed, Reply } from "./reply.ts";
import { metaKey, type Revision } from "./revisions.ts";
import type { Headers, Post, PostResult, Wire } from "./wire/wire.ts";

/** A tool with arguments. */
export interface ToolUse {
  readonly name: string;
  readonly arguments?: JsonObject;
  /** The resource that the tool changes. */
  readonly uri?: string;
}

export interface RequestOptions {
  readonly id?: unknown;
  readonly meta?: JsonObject;
  readonly headers?: Headers;
}

/** A request that waits for its response. */
export interface PendingRequest {
  readonly id: unknown;
  readonly reply: Promise<Reply>;
  /** Closes the connection of the request, if it has its own. */
  drop(): void;
}

/** A question of the server: a request, or an input request of a result. */
export interface Question {
  readonly method: string;
  readonly params: unknown;
}

/** Answers a question with a result. */
export type Answer = (question: Question) => JsonObject;

const clientInfo = { name: "portolan-check", version: "0.1.0" };
const namedBy: { readonly [method: string]: string } = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};
const maxRounds = 10;

/** A client of one revision that sends exactly what a scenario asks for, and stores everything it receives. */
export class Peer {
  readonly revision: Revision;
  readonly inbox: Inbox;
  readonly wire: Wire;
  readonly questions: Question[] = [];
  /** The declared capabilities: sent once in a handshake, or with every request. */
  capabilities: JsonObject;
  answer: Answer;
  #lastId = 0;

  constructor(revision: Revision, capabilities: JsonObject, answer: Answer, inbox: Inbox, wire: Wire) {
    this.revision = revision;
    this.capabilities = capabilities;
    this.answer = answer;
    this.inbox = inbox;
    this.wire = wire;
    inbox.onMessage = (message) => this.#hear(message);
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Sends bytes unchanged. */
  post(body: string | Uint8Array, headers?: Headers): Post {
    return this.wire.post(body, headers);
  }

  /** Sends a message unchanged, with the HTTP headers that belong to it. */
  send(message: JsonObject, headers: Headers = {}): Post {
    return this.post(JSON.stringify(message), { ...this.headersOf(message), ...headers });
  }

  /** Returns the headers that repeat parts of a message, if the revision has such headers. */
  headersOf({ method, params }: JsonObject): Headers {
    if (!this.revision.isStateless || typeof method !== "string") return {};
    const name = at(params, namedBy[method] ?? "");
    return {
      "mcp-protocol-version": this.revision.date,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    };
  }

  notify(method: string, params?: JsonObject): Post {
    return this.send({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  /** Builds a request of this client. */
  toRequest(method: string, params?: JsonObject, options: RequestOptions = {}): JsonObject {
    const { id = this.nextId(), meta = {} } = options;
    const own = this.revision.isStateless ? this.#selfDescription() : {};
    const _meta = { ...own, ...(isObject(params?.["_meta"]) && params["_meta"]), ...meta };
    const whole = Object.keys(_meta).length === 0 ? params : { ...params, _meta };
    return { jsonrpc: "2.0", id, method, ...(whole && { params: whole }) };
  }

  request(method: string, params?: JsonObject, options: RequestOptions = {}): Promise<Reply> {
    return this.start(method, params, options).reply;
  }

  start(method: string, params?: JsonObject, options: RequestOptions = {}): PendingRequest {
    return this.startRaw(this.toRequest(method, params, options), options.headers);
  }

  /** Sends a message unchanged and waits for its response. */
  startRaw(message: JsonObject, headers: Headers = {}): PendingRequest {
    const { id } = message;
    const earlier = this.inbox.responses(id).length;
    const from = this.inbox.messages.length;
    const post = this.send(message, headers);
    let ended: PostResult | undefined;
    post.finished.then((posted) => {
      // A message that was accepted with 202 is answered on another stream.
      if (posted.status !== undefined && posted.status !== 202) ended = posted;
      this.inbox.wake();
    });
    const look = (): { message?: JsonObject } | undefined => {
      const message = this.inbox.responses(id)[earlier];
      if (message) return { message };
      if (!ended) return undefined;
      const isNameless = (one: JsonObject) => one["method"] === undefined && one["id"] == null;
      const nameless = this.inbox.messages.slice(from).find(isNameless);
      return nameless ? { message: nameless } : {};
    };
    const reply = this.inbox
      .wait(`the answer to ${show(message, 120)}`, look)
      .then(async (found) => new Reply(show(message), id, found.message, ended ?? (await post.begun)));
    // A dropped request is not awaited.
    reply.catch(() => {});
    return { id, reply, drop: () => post.drop() };
  }

  /** Calls a tool and answers all rounds of its questions. */
  async call(tool: ToolUse, options: RequestOptions = {}): Promise<Reply> {
    const params = { name: tool.name, arguments: tool.arguments ?? {} };
    let reply = await this.request("tools/call", params, options);
    for (let round = 0; at(reply.message, "result", "resultType") === "input_required"; round += 1) {
      check(round < maxRounds, () => `called ${tool.name}; got ${maxRounds} rounds of questions; expected an end`);
      reply = await this.request("tools/call", { ...params, ...this.answerRound(reply) });
    }
    return reply;
  }

  /** Returns the members that a retry adds to the params of its request. */
  answerRound(reply: Reply): JsonObject {
    const result = reply.result();
    const requests = isObject(result["inputRequests"]) ? result["inputRequests"] : {};
    const answers = Object.entries(requests).map(([key, asked]) => {
      const method = at(asked, "method");
      check(typeof method === "string", () => reply.evidence("a method in each input request"));
      const question = { method, params: at(asked, "params") };
      this.questions.push(question);
      return [key, this.answer(question)];
    });
    const state = result["requestState"];
    return { inputResponses: Object.fromEntries(answers), ...(state !== undefined && { requestState: state }) };
  }

  /** Sends a request that every server of the revision answers, to check that the server still responds. */
  async roundTrip(): Promise<Reply> {
    const reply = await this.request(this.revision.simplest);
    reply.result();
    return reply;
  }

  /**
   * Sends invalid data. Returns the responses that are received until the server has answered two further requests.
   * Its own requests and notifications, which it may send at any time, are no answers.
   */
  async sendInvalid(
    body: string | Uint8Array,
    headers?: Headers,
  ): Promise<{ messages: JsonObject[]; posted: PostResult }> {
    const from = this.inbox.messages.length;
    let posted: PostResult | undefined;
    this.post(body, headers).finished.then((finished) => {
      posted = finished;
      this.inbox.wake();
    });
    const taken = await this.inbox.wait(
      `the end of ${show(typeof body === "string" ? body : "some bytes", 80)}`,
      () => posted,
    );
    const first = this.#lastId;
    await this.settle();
    const isRoundTrip = ({ id }: JsonObject) => typeof id === "number" && id > first && id <= this.#lastId;
    const isAnswer = (message: JsonObject) => !("method" in message) && !isRoundTrip(message);
    return { messages: this.inbox.messages.slice(from).filter(isAnswer), posted: taken };
  }

  /** Waits until the server has answered two further requests. */
  async settle(): Promise<void> {
    await this.roundTrip();
    await this.roundTrip();
  }

  /** Lists all pages of a list. */
  async list(method: string, member: string): Promise<{ entries: readonly unknown[]; pages: (readonly unknown[])[] }> {
    const pages: (readonly unknown[])[] = [];
    for (let cursor: unknown; pages.length < 200; ) {
      const reply = await this.request(method, cursor === undefined ? {} : { cursor });
      const result = reply.result();
      check(Array.isArray(result[member]), () => reply.evidence(`a list of ${member}`));
      pages.push(listAt(result, member));
      cursor = result["nextCursor"];
      if (cursor === undefined) return { entries: pages.flat(), pages };
      check(typeof cursor === "string", () => reply.evidence("a string as nextCursor"));
    }
    throw new ExpectationFailed(`walked ${method}; got 200 pages; expected an end`);
  }

  close(): Promise<void> {
    return this.wire.close();
  }

  #selfDescription(): JsonObject {
    return {
      [metaKey("protocolVersion")]: this.revision.date,
      [metaKey("clientCapabilities")]: this.capabilities,
      [metaKey("clientInfo")]: clientInfo,
    };
  }

  #hear({ id, method, params }: JsonObject): void {
    if (typeof method !== "string" || id === undefined) return;
    const question = { method, params };
    this.questions.push(question);
    if (method === "ping") this.send({ jsonrpc: "2.0", id, result: {} });
    else this.send({ jsonrpc: "2.0", id, result: this.answer(question) });
  }
}
