import { PortolanError } from "../errors.ts";
import { IdTable } from "../jsonrpc/id-table.ts";
import type { JsonObject, RequestId, RpcNotification, RpcRequest, RpcResponse } from "../jsonrpc/message.ts";
import { type ClientCodec, type ClientSelf, clientCodec, replacementOf } from "../protocol/client-codec.ts";
import type { MethodRow, Revision } from "../protocol/revision.ts";
import type { LogLevel, LogMessageParams } from "../protocol/types/index.ts";
import type { QuestionAnswerer } from "./answer.ts";
import type { ServerProfile } from "./api.ts";
import { Call } from "./call.ts";
import type { Link, LinkEvents } from "./channel-link.ts";
import { declaredBy } from "./client.ts";
import { type Clock, Deadlines, systemClock } from "./deadlines.ts";
import { cutOff, toError } from "./failures.ts";
import type { ConnectOptions, InteractiveCallOptions } from "./options.ts";

const defaultInfo = { name: "portolan", version: "0.1.0" };
const defaultIdleMs = 60_000;
const defaultTotalMs = 30 * 60_000;
type Listener = (notification: RpcNotification) => void;

/** Everything that goes over one link, from the first probe to the end: ids, calls, and what the server says. */
export class ClientConnection implements LinkEvents {
  readonly link: Link;
  readonly options: ConnectOptions;
  readonly self: ClientSelf;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly calls: IdTable<Call> = new IdTable();
  readonly idleMs: number;
  readonly totalMs: number;
  /** Who answered; undefined until that is settled. */
  profile: ServerProfile | undefined;
  logLevel: LogLevel | undefined;
  /** Hears the first answer of a server whose era was only remembered. */
  firstAnswer: ((response: RpcResponse) => void) | undefined;
  /** Whether the end of the link is our own wish. */
  isClosing = false;
  /** Why the link is gone; undefined while it is there. */
  lostBy: Error | undefined;
  #revision: Revision | undefined;
  #codec: ClientCodec | undefined;
  #meta: JsonObject | undefined;
  #lastId = 0;
  #metaText = "";
  #lastTool: unknown;
  #toolText = "";
  #lastMethod: string | undefined;
  #lastRow: MethodRow | undefined;
  #answering: Promise<QuestionAnswerer> | undefined;
  readonly #listeners = new Set<Listener>();
  readonly #lostListeners = new Set<(reason: Error) => void>();
  readonly #renewedListeners = new Set<() => void>();
  #holds = 0;
  /** Calls whose time stands still because of a hold. */
  readonly #heldCalls = new Set<Call>();

  constructor(link: Link, options: ConnectOptions) {
    this.link = link;
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.deadlines = new Deadlines(this.clock, this.calls);
    this.idleMs = options.idleMs ?? defaultIdleMs;
    this.totalMs = options.totalMs ?? defaultTotalMs;
    this.logLevel = options.logLevel;
    const capabilities = declaredBy(options.answers ?? {}, options.capabilities);
    this.self = { info: options.info ?? defaultInfo, capabilities };
  }

  get codec(): ClientCodec {
    if (!this.#codec) throw new Error("the revision is not settled yet");
    return this.#codec;
  }

  get revision(): Revision {
    if (!this.#revision) throw new Error("the revision is not settled yet");
    return this.#revision;
  }

  /** From now on this revision is spoken. */
  settle(revision: Revision): void {
    this.#revision = revision;
    this.#lastMethod = undefined;
    this.#codec = clientCodec(revision);
    this.#describeSelf();
  }

  setLogLevel(level: LogLevel): void {
    this.logLevel = level;
    this.#describeSelf();
  }

  /** What answers questions; loaded when the first one comes, because most connections have none. */
  answering(): Promise<QuestionAnswerer> {
    this.#answering ??= import("./answer.ts").then(
      ({ QuestionAnswerer }) => new QuestionAnswerer(this, this.options.answers ?? {}),
    );
    return this.#answering;
  }

  nextId(): RequestId {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Makes a call with params of its own; rejects at once when the server's revision has another way to do this. */
  call(
    method: string,
    params: JsonObject,
    options: InteractiveCallOptions,
    begun?: (call: Call) => void,
  ): Promise<JsonObject> {
    const instead = this.#rowOf(method) ? undefined : replacementOf(method, this.revision);
    if (instead !== undefined) {
      const { version } = this.revision;
      const why = `${method}: protocol version ${version}, which the server speaks, has no such request; use ${instead}`;
      return Promise.reject(new PortolanError("capability-missing", why));
    }
    if (this.lostBy) return Promise.reject(cutOff(method, this.lostBy, false));
    return new Promise((resolve, reject) => {
      const call = new Call(this, method, params, options, resolve, reject);
      begun?.(call);
      call.start();
    });
  }

  // Hot path: `_meta` is written into params that are the call's own, nothing is copied.
  encode(id: RequestId, method: string, params: JsonObject, options: InteractiveCallOptions): RpcRequest {
    const known = this.codec.encodeParams(method, params);
    const meta = this.#metaFor(options);
    const isHeard = this.#rowOf(method)?.mayAsk;
    // What the protocol says cannot be said otherwise by the caller.
    if (options.meta !== undefined)
      known["_meta"] = { ...options.meta, ...(isHeard && { progressToken: id }), ...meta };
    else if (isHeard) known["_meta"] = meta === undefined ? { progressToken: id } : { progressToken: id, ...meta };
    else if (meta !== undefined) known["_meta"] = meta;
    return { jsonrpc: "2.0", id, method, params: known };
  }

  /**
   * The JSON text of a plain call of a tool, where text is what is sent: all but the arguments is the same from call to
   * call. Undefined for every other request, and for arguments that have no JSON form, which are explained elsewhere.
   */
  textOf({ id, method, params, options }: Call): string | undefined {
    if (method !== "tools/call" || !this.link.exchangeText || options.meta || this.#metaFor(options) !== this.#meta) {
      return undefined;
    }
    if (params["name"] !== this.#lastTool) {
      this.#lastTool = params["name"];
      this.#toolText = `"method":"tools/call","params":{"name":${JSON.stringify(this.#lastTool)},"arguments":`;
    }
    try {
      const args = options.argumentsText ?? JSON.stringify(params["arguments"]);
      if (args === undefined) return undefined;
      return `{"jsonrpc":"2.0","id":${id},${this.#toolText}${args},"_meta":{"progressToken":${id}${this.#metaText}}}}`;
    } catch {
      return undefined;
    }
  }

  /** Hears every notification until it is called back. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onLost(listener: (reason: Error) => void): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  onRenewed(listener: () => void): () => void {
    this.#renewedListeners.add(listener);
    return () => this.#renewedListeners.delete(listener);
  }

  /** Whether somebody is being asked who they are. */
  get isHeld(): boolean {
    return this.#holds > 0;
  }

  held(isHeld: boolean): void {
    this.#holds += isHeld ? 1 : -1;
    if (isHeld) {
      for (const call of this.calls.values().filter((one) => !this.#heldCalls.has(one))) {
        this.#heldCalls.add(call);
        call.pause();
      }
    } else if (this.#holds === 0) {
      for (const call of this.#heldCalls) call.resume();
      this.#heldCalls.clear();
    }
  }

  renewed(): void {
    for (const listener of [...this.#renewedListeners]) this.#tell(listener, undefined);
  }

  notification(notification: RpcNotification): void {
    const { method, params = {} } = notification;
    if (method === "notifications/progress") {
      this.#progress(params);
      return;
    }
    if (method === "notifications/cancelled") this.#questionTakenBack(params["requestId"]);
    else if (method === "notifications/message") this.#tell(this.options.onLog, params as unknown as LogMessageParams);
    for (const listener of this.#listeners) this.#tell(listener, notification);
    const { onNotification } = this.options;
    if (onNotification) this.#tell((heard: JsonObject) => onNotification(method, heard), params);
  }

  odd(why: string): void {
    this.report(new PortolanError("answer-invalid", `The server sent what is no message: ${why}`));
  }

  /** A link that is opened again is no longer lost. */
  async open(): Promise<void> {
    if (this.isClosing) throw new PortolanError("connection-closed", "The connection was closed");
    this.lostBy = undefined;
    await this.link.open(this);
  }

  lost(reason: Error): void {
    this.lostBy = reason;
    this.#answering?.then((answering) => answering.stopAll(reason));
    for (const listener of [...this.#lostListeners]) this.#tell(listener, reason);
  }

  request(request: RpcRequest, answer: (response: RpcResponse) => void, during?: RequestId): void {
    const { id, method } = request;
    if (this.profile?.era === "stateless") this.odd(`a request (${method}), which its protocol version does not have`);
    else if (method === "ping") answer({ jsonrpc: "2.0", id, result: {} });
    else this.answering().then((answering) => answering.answerRequest(request, answer, during));
  }

  report(error: Error): void {
    try {
      this.options.onError?.(error);
    } catch {
      // There is nobody left to tell.
    }
  }

  #questionTakenBack(id: unknown): void {
    this.#answering?.then((answering) => answering.takeBack(id as RequestId));
  }

  /** Most calls are of the method that was called last. */
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
    const declared =
      capabilities ??
      (answers ? declaredBy({ ...options.answers, ...answers }, options.capabilities) : self.capabilities);
    return this.codec.requestMeta({ info: self.info, capabilities: declared }, logLevel ?? this.logLevel);
  }

  #progress(params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    const call = this.calls.get(progressToken as RequestId);
    if (!call) return;
    call.touch();
    const { onProgress } = call.options;
    if (!onProgress || typeof progress !== "number") return;
    // Hot path: written member by member, because spreading makes an object for each.
    const told: { progress: number; total?: number; message?: string } = { progress };
    if (typeof total === "number") told.total = total;
    if (typeof message === "string") told.message = message;
    this.#tell(onProgress, told);
  }

  /** A listener that throws is reported and spoils nothing. */
  #tell<T>(listener: ((value: T) => void) | undefined, value: T): void {
    try {
      listener?.(value);
    } catch (thrown) {
      this.report(toError(thrown));
    }
  }
}
