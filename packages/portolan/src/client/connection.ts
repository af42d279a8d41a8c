import { PortolanError } from "../errors.ts";
import type { JsonObject, RequestId, RpcNotification, RpcRequest, RpcResponse } from "../jsonrpc/message.ts";
import { IdTable } from "../jsonrpc/message.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import { type ClientCodec, type ClientSelf, clientCodec, replacementOf } from "../protocol/client-codec.ts";
import type { MethodRow, Revision } from "../protocol/revision.ts";
import type { ClientCapabilities, LogLevel, LogMessageParams } from "../protocol/types/index.ts";
import type { ActiveExtensions } from "./active-extensions.ts";
import type { QuestionAnswerer } from "./answer.ts";
import type { ServerProfile } from "./api.ts";
import { Call } from "./call.ts";
import type { Link, LinkEvents } from "./channel-link.ts";
import { type Clock, Deadlines, systemClock } from "./deadlines.ts";
import { disconnected, toError } from "./failures.ts";
import { defaultIdleMs, defaultTotalMs } from "./limits.ts";
import type { Answers, ConnectOptions, InteractiveCallOptions } from "./options.ts";

const defaultInfo = { name: "portolan", version: "0.1.0" };
type Listener = (notification: RpcNotification) => void;

/** One link with its request ids, its calls, and the listeners for the server's messages, from the first probe on. */
export class ClientConnection implements LinkEvents {
  readonly link: Link;
  readonly options: ConnectOptions;
  self: ClientSelf;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly calls: IdTable<Call> = new IdTable();
  readonly idleMs: number;
  readonly totalMs: number;
  /** Undefined until the negotiation is over. */
  profile: ServerProfile | undefined;
  logLevel: LogLevel | undefined;
  /** Receives the first answer of a server whose era comes from the cache. */
  firstAnswer: ((response: RpcResponse) => void) | undefined;
  /** Undefined for a client without extensions. */
  extensions: ActiveExtensions | undefined;
  /** True when this side ends the link. */
  isClosing = false;
  /** The reason why the link is gone; undefined while it is open. */
  lostReason: Error | undefined;
  #revision: Revision | undefined;
  #codec: ClientCodec | undefined;
  #meta: JsonObject | undefined;
  #lastId = 0;
  #metaText = "";
  #lastTool: unknown;
  #toolText = "";
  #lastMethod: string | undefined;
  #lastRow: MethodRow | undefined;
  #answerer: Promise<QuestionAnswerer> | undefined;
  readonly #listeners = new Set<Listener>();
  readonly #lostListeners = new Set<(reason: Error) => void>();
  readonly #renewedListeners = new Set<() => void>();
  #openLogins = 0;
  /** Calls that are paused during a login. */
  readonly #callsAwaitingLogin = new Set<Call>();

  constructor(link: Link, options: ConnectOptions) {
    this.link = link;
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.deadlines = new Deadlines(this.clock, this.calls);
    this.idleMs = options.idleMs ?? defaultIdleMs;
    this.totalMs = options.totalMs ?? defaultTotalMs;
    this.logLevel = options.logLevel;
    const capabilities = capabilitiesFor(options.answers ?? {}, options.capabilities);
    this.self = { info: options.info ?? defaultInfo, capabilities };
  }

  /** Opens the link, also again after it was lost. */
  async open(): Promise<void> {
    if (this.isClosing) throw new PortolanError("connection-closed", "The connection was closed");
    this.lostReason = undefined;
    await this.link.open(this);
  }

  /** Sets the revision for all further messages. */
  useRevision(revision: Revision): void {
    this.#revision = revision;
    this.#lastMethod = undefined;
    this.#codec = clientCodec(revision);
    this.#describeSelf();
  }

  get revision(): Revision {
    if (!this.#revision) throw new Error("the revision is not settled yet");
    return this.#revision;
  }

  /** Defined together with the revision. */
  get codec(): ClientCodec {
    return this.#codec as ClientCodec;
  }

  setLogLevel(level: LogLevel): void {
    this.logLevel = level;
    this.#describeSelf();
  }

  nextId(): RequestId {
    this.#lastId += 1;
    return this.#lastId;
  }

  /**
   * Starts a call. The call owns `params` and changes them. `prepare` receives the call before its first request is sent.
   * Rejects at once if the server's revision has replaced the method.
   */
  call(
    method: string,
    params: JsonObject,
    options: InteractiveCallOptions,
    prepare?: (call: Call) => void,
  ): Promise<JsonObject> {
    const replacement = this.#rowOf(method) ? undefined : replacementOf(method, this.revision);
    if (replacement !== undefined) {
      const { version } = this.revision;
      const why = `${method}: not part of protocol version ${version}; use ${replacement}`;
      return Promise.reject(new PortolanError("capability-missing", why));
    }
    if (this.lostReason) return Promise.reject(disconnected(method, this.lostReason, false));
    return new Promise((resolve, reject) => {
      const call = new Call(this, method, params, options, resolve, reject);
      prepare?.(call);
      if (this.extensions) this.extensions.start(call);
      else call.start();
    });
  }

  /**
   * Returns the JSON text of a plain tool call for a link that sends text: all but the arguments is the same from call to
   * call. Returns undefined for every other request, and for arguments without a JSON form: `encode` reports those.
   */
  textOf({ id, method, params, options, isPrepared }: Call): string | undefined {
    const isPlain = method === "tools/call" && !options.meta && !isPrepared && !options.rewrite;
    if (!isPlain || !this.link.exchangeText || this.#metaFor(options) !== this.#meta) return undefined;
    if (params["name"] !== this.#lastTool) {
      this.#lastTool = params["name"];
      this.#toolText = `"method":"tools/call","params":{"name":${JSON.stringify(this.#lastTool)},"arguments":`;
    }
    try {
      const args = options.serializedArguments ?? JSON.stringify(params["arguments"]);
      if (args === undefined) return undefined;
      return `{"jsonrpc":"2.0","id":${id},${this.#toolText}${args},"_meta":{"progressToken":${id}${this.#metaText}}}}`;
    } catch {
      return undefined;
    }
  }

  // Hot path: `_meta` is written into the call's own params, nothing is copied.
  encode(id: RequestId, method: string, params: JsonObject, options: InteractiveCallOptions): RpcRequest {
    const encoded = this.codec.encodeParams(method, params);
    const meta = this.#metaFor(options);
    const hasProgress = this.#rowOf(method)?.runsHandler;
    // Members of the protocol come last: the caller cannot replace them.
    if (options.meta !== undefined)
      encoded["_meta"] = { ...options.meta, ...(hasProgress && { progressToken: id }), ...meta };
    else if (hasProgress)
      encoded["_meta"] = meta === undefined ? { progressToken: id } : { progressToken: id, ...meta };
    else if (meta !== undefined) encoded["_meta"] = meta;
    return { jsonrpc: "2.0", id, method, params: encoded };
  }

  /** Calls the listener for every notification but progress. Returns a function that removes it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listener when the link is lost. Returns a function that removes it. */
  onLost(listener: (reason: Error) => void): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  /** Calls the listener when notifications may be missing, or the session is a new one. Returns a function that removes it. */
  onRenewed(listener: () => void): () => void {
    this.#renewedListeners.add(listener);
    return () => this.#renewedListeners.delete(listener);
  }

  /** The answerer is loaded with the first question, because most connections have none. */
  answerer(): Promise<QuestionAnswerer> {
    this.#answerer ??= import("./answer.ts").then(
      ({ QuestionAnswerer }) => new QuestionAnswerer(this, this.options.answers ?? {}),
    );
    return this.#answerer;
  }

  notification(notification: RpcNotification): void {
    const { method, params = {} } = notification;
    if (method === "notifications/progress") {
      this.#progress(params);
      return;
    }
    if (method === "notifications/cancelled") this.#cancelQuestion(params["requestId"]);
    else if (method === "notifications/message") {
      this.#callListener(this.options.onLog, params as unknown as LogMessageParams);
    }
    for (const listener of this.#listeners) this.#callListener(listener, notification);
    const { onNotification } = this.options;
    if (onNotification) this.#callListener((received: JsonObject) => onNotification(method, received), params);
  }

  request(request: RpcRequest, answer: (response: RpcResponse) => void, during?: RequestId): void {
    const { id, method } = request;
    if (this.#revision?.questions === "in-result") {
      this.invalid(`a request (${method}), which its protocol version does not have`);
    } else if (method === "ping") answer({ jsonrpc: "2.0", id, result: {} });
    else this.answerer().then((answerer) => answerer.answerRequest(request, answer, during));
  }

  invalid(why: string): void {
    this.report(new PortolanError("answer-invalid", `The server sent an invalid message: ${why}`));
  }

  renewed(): void {
    for (const listener of [...this.#renewedListeners]) this.#callListener(listener, undefined);
  }

  interrupted(): void {
    // Subscriptions are made again, too: a server that has lost events may have lost them.
    this.renewed();
  }

  /** True while a person signs in. */
  get isAwaitingLogin(): boolean {
    return this.#openLogins > 0;
  }

  login(isOpen: boolean): void {
    this.#openLogins += isOpen ? 1 : -1;
    if (isOpen) {
      for (const call of this.calls.values().filter((one) => !this.#callsAwaitingLogin.has(one))) {
        this.#callsAwaitingLogin.add(call);
        call.pause();
      }
    } else if (this.#openLogins === 0) {
      for (const call of this.#callsAwaitingLogin) call.resume();
      this.#callsAwaitingLogin.clear();
    }
  }

  lost(reason: Error): void {
    this.lostReason = reason;
    this.#answerer?.then((answerer) => answerer.cancelAll(reason));
    for (const listener of [...this.#lostListeners]) this.#callListener(listener, reason);
  }

  /** Passes a problem that fails no call to `onError`. */
  report(error: Error): void {
    try {
      this.options.onError?.(error);
    } catch {
      // An `onError` that throws has no other place to report to.
    }
  }

  #progress(params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    const call = this.calls.get(progressToken as RequestId);
    if (!call) return;
    call.touch();
    const { onProgress } = call.options;
    if (!onProgress || typeof progress !== "number") return;
    // Hot path: written member by member, because each spread allocates an object.
    const event: { progress: number; total?: number; message?: string } = { progress };
    if (typeof total === "number") event.total = total;
    if (typeof message === "string") event.message = message;
    this.#callListener(onProgress, event);
  }

  #cancelQuestion(id: unknown): void {
    this.#answerer?.then((answerer) => answerer.cancel(id as RequestId));
  }

  /** Reports a listener that throws, so that it does not stop the others. */
  #callListener<T>(listener: ((value: T) => void) | undefined, value: T): void {
    try {
      listener?.(value);
    } catch (thrown) {
      this.report(toError(thrown));
    }
  }

  /** Most calls use the same method as the call before. */
  #rowOf(method: string): MethodRow | undefined {
    if (method !== this.#lastMethod) {
      this.#lastMethod = method;
      this.#lastRow = this.revision.requests.get(method);
    }
    return this.#lastRow;
  }

  #describeSelf(): void {
    this.#meta = this.#codec?.requestMeta(this.self, this.logLevel);
    this.#metaText = this.#meta === undefined ? "" : `,${JSON.stringify(this.#meta).slice(1, -1)}`;
  }

  #metaFor({ answers, capabilities, logLevel }: InteractiveCallOptions): JsonObject | undefined {
    if (answers === undefined && capabilities === undefined && logLevel === undefined) return this.#meta;
    const { self, options } = this;
    const own = answers && { capabilities: capabilitiesFor({ ...options.answers, ...answers }, options.capabilities) };
    const declared = capabilities ? { info: self.info, capabilities } : { ...self, ...own };
    return this.codec.requestMeta(declared, logLevel ?? this.logLevel);
  }
}

const answerNames = { elicit: 1, openUrl: 1, sample: 1, roots: 1 } satisfies OptionNames<Answers>;

/** Returns the capabilities that a client with these answers declares, merged with `extra`. */
export function capabilitiesFor(answers: Answers, extra: ClientCapabilities = {}): ClientCapabilities {
  // An instance of a class may have other members.
  if (answers.constructor === Object) checkOptions(answers, answerNames, "answers");
  const declared: ClientCapabilities = {};
  if (answers.elicit || answers.openUrl) {
    declared.elicitation = { ...(answers.elicit && { form: {} }), ...(answers.openUrl && { url: {} }) };
  }
  if (answers.sample) declared.sampling = {};
  if (answers.roots) declared.roots = { listChanged: true };
  return {
    ...declared,
    ...extra,
    ...(extra.elicitation && { elicitation: { ...declared.elicitation, ...extra.elicitation } }),
    ...(extra.sampling && { sampling: { ...declared.sampling, ...extra.sampling } }),
    ...(extra.roots && { roots: { ...declared.roots, ...extra.roots } }),
  };
}
