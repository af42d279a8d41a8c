import type { CallToolResult, JsonObject, LogLevel } from "portolan";
import { PortolanError, RpcError } from "portolan";
import type { Clock } from "portolan/client";
import { isObject, rejectInvalid, rpcCodes, toError } from "portolan/internal";
import type { Host, HostCallOptions } from "../api.ts";
import { hostCallOptionKinds } from "../calls.ts";
import { maxLogMessageChars } from "../limits.ts";
import type { AppAccess } from "./access.ts";
import type { AppChannel, AppEnd, AppSession, AppState, OpenAppOptions } from "./api.ts";
import { type AppTool, AppTools } from "./app-tools.ts";
import type { AppContext } from "./context.ts";
import { HostRequests } from "./host-requests.ts";
import {
  appStartMs,
  appTeardownMs,
  maxAppBurst,
  maxAppCharsPerSecond,
  maxAppMessageChars,
  maxAppMessagesPerSecond,
  maxAppRequests,
  maxAppWaiting,
} from "./limits.ts";
import { Allowance, measure } from "./message.ts";
import { type AppSurroundings, appNotifications, appRequests } from "./protocol.ts";
import { AppRequests } from "./requests.ts";
import type { AppResource } from "./resource.ts";
import { toDeclaration } from "./sources.ts";

/** The parts that `openApp` has found. */
interface AppParts {
  readonly id: string;
  readonly resource: AppResource;
  readonly definition: JsonObject;
}

/** The session of an app, which travels over any channel. */
export class LocalSession implements AppSession {
  readonly id: string;
  readonly resource: AppResource;
  readonly closed: Promise<AppEnd>;
  readonly #host: Host;
  readonly #options: OpenAppOptions;
  readonly #clock: Clock;
  readonly #requests: AppRequests;
  /** Requests of the host to the app. */
  readonly #asked: HostRequests;
  /** Undefined if the application wants no tools of apps. */
  readonly #tools: AppTools | undefined;
  /** Aborts everything that is done for the app. */
  readonly #over = new AbortController();
  readonly #messages: Allowance;
  readonly #chars: Allowance;
  readonly #settle: (end: AppEnd) => void;
  /** Requests of the app that wait for an answer. */
  readonly #open = new Map<string | number, AbortController>();
  #state: AppState = "loading";
  #channel: AppChannel | undefined;
  /** Messages that wait until the app is ready. The partial input is the last one alone. */
  #waiting: JsonObject[] = [];
  #hasInput = false;
  #hasOutcome = false;
  #stopStartTimer: (() => void) | undefined;
  #onTornDown: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(host: Host, access: AppAccess, options: OpenAppOptions, { id, resource, definition }: AppParts) {
    this.id = id;
    this.resource = resource;
    this.#host = host;
    this.#options = options;
    this.#clock = access.clock;
    const log = (entry: object) => this.#log("host", entry);
    this.#requests = new AppRequests({ host, access, options, resource, definition, over: this.#over.signal, log });
    const { clock } = access;
    this.#asked = new HostRequests({ id, clock, post: (message) => this.#sendRequest(message) });
    this.#tools = options.appTools
      ? new AppTools({
          ...{ server: options.server, app: resource.uri, session: id, clock, log, over: this.#over.signal },
          ...{ requests: this.#asked, callTool: access.callTool, onTools: options.onTools },
        })
      : undefined;
    const now = () => this.#clock.now();
    this.#messages = new Allowance(maxAppMessagesPerSecond, maxAppBurst, now);
    this.#chars = new Allowance(maxAppCharsPerSecond, Math.max(maxAppCharsPerSecond, maxAppMessageChars), now);
    let settle: (end: AppEnd) => void = () => {};
    this.closed = new Promise((resolve) => {
      settle = resolve;
    });
    this.#settle = settle;
    for (const signal of [options.signal, access.closed]) {
      if (signal?.aborted) void this.close();
      signal?.addEventListener("abort", () => void this.close(), { once: true, signal: this.#over.signal });
    }
    this.#log("host", { method: "open", tool: options.tool, ...toDeclaration(resource), dropped: resource.dropped });
    if (options.args) this.sendInput(options.args);
    if (options.result) this.#followResult(options.result);
  }

  get server(): string {
    return this.#options.server;
  }

  get tool(): string {
    return this.#options.tool;
  }

  get state(): AppState {
    return this.#state;
  }

  get context(): AppContext | undefined {
    return this.#requests.context;
  }

  get tools(): readonly AppTool[] {
    return this.#tools?.all ?? [];
  }

  async settleTools(): Promise<void> {
    await this.#tools?.settled();
  }

  async callTool(tool: AppTool, args: JsonObject = {}, options: HostCallOptions = {}): Promise<CallToolResult> {
    await rejectInvalid(options, hostCallOptionKinds, "callTool");
    if (options.by === "app") throw new PortolanError("invalid-argument", "callTool: an app calls no tools of apps");
    if (!this.#tools) {
      throw new PortolanError("invalid-argument", "callTool: pass `appTools: true` to openApp to use tools of apps");
    }
    return this.#tools.call(tool, args, options);
  }

  takeContext(): AppContext | undefined {
    const { context } = this.#requests;
    this.#requests.context = undefined;
    if (context) this.#requests.markConversation();
    return context;
  }

  connect(channel: AppChannel): void {
    if (this.#channel)
      throw new PortolanError("invalid-argument", "The app is connected already: open another session");
    this.#channel = channel;
    if (this.#closing) {
      channel.close();
      return;
    }
    const { startMs = appStartMs } = this.#options;
    this.#stopStartTimer = this.#clock.after(startMs, () => void this.#end("no-start", "it did not start"));
    channel.open((message) => this.#receive(message));
  }

  sendPartialInput(args: JsonObject): void {
    if (this.#hasInput) return;
    const method = "ui/notifications/tool-input-partial";
    this.#waiting = this.#waiting.filter((message) => message["method"] !== method);
    this.#notify(method, { arguments: args });
  }

  sendInput(args: JsonObject): void {
    if (this.#hasInput) throw new PortolanError("invalid-argument", "sendInput: the arguments were sent already");
    this.#hasInput = true;
    this.#waiting = this.#waiting.filter(({ method }) => method !== "ui/notifications/tool-input-partial");
    this.#notify("ui/notifications/tool-input", { arguments: args });
  }

  sendResult(result: CallToolResult): void {
    this.#beginOutcome("sendResult");
    const { content, structuredContent, isError, _meta } = result;
    this.#notify("ui/notifications/tool-result", {
      content,
      ...(structuredContent !== undefined && { structuredContent }),
      ...(isError !== undefined && { isError }),
      ...(_meta !== undefined && { _meta }),
    });
  }

  sendCancelled(reason?: string): void {
    this.#beginOutcome("sendCancelled");
    this.#notify("ui/notifications/tool-cancelled", { ...(reason !== undefined && { reason }) });
  }

  setSurroundings(changed: AppSurroundings): void {
    this.#requests.surroundings = { ...this.#requests.surroundings, ...changed };
    if (this.#state !== "loading") this.#notify("ui/notifications/host-context-changed", { ...changed });
  }

  close(reason?: string): Promise<void> {
    return this.#end("closed", reason);
  }

  /** The input comes before the result, even if the application has sent none. */
  #beginOutcome(method: string): void {
    if (this.#hasOutcome) throw new PortolanError("invalid-argument", `${method}: the call has ended already`);
    this.#hasOutcome = true;
    if (!this.#hasInput) this.sendInput({});
  }

  #followResult(result: CallToolResult | Promise<CallToolResult>): void {
    if (!("then" in result)) {
      this.sendResult(result);
      return;
    }
    result.then(
      (settled) => this.#hasOutcome || this.sendResult(settled),
      (reason) => this.#hasOutcome || this.sendCancelled(toError(reason).message),
    );
  }

  #setState(state: AppState): void {
    this.#state = state;
    this.#options.onState?.(state);
  }

  /** Sends a notification, or keeps it until the app is ready: nothing may be sent before. */
  #notify(method: string, params: object): void {
    const message = { jsonrpc: "2.0", method, params };
    if (this.#state === "ready") {
      this.#log("host", { method });
      this.#post(message);
    } else if (this.#state !== "closing" && this.#state !== "closed" && this.#waiting.length < maxAppWaiting) {
      this.#waiting.push(message);
    }
  }

  /** Sends a request of the host, or takes it back. An app gets none before it is ready. */
  #sendRequest(message: JsonObject): void {
    const { id: request, method, params } = message;
    this.#log("host", { method, ...(request !== undefined && { request }), params });
    if (this.#state === "ready") this.#post(message);
  }

  #post(message: JsonObject): void {
    if (this.#state === "closed") return;
    try {
      this.#channel?.post(message);
    } catch (reason) {
      void this.#end("failed", toError(reason).message);
    }
  }

  /** Takes whatever another window or machine has sent. */
  #receive(message: unknown): void {
    if (this.#state === "closed") return;
    const allowed = this.#asked.allowedCharsOf(message);
    const size = measure(message, allowed);
    if (typeof size !== "number") {
      this.#log("app", { refused: size.problem });
      if (allowed !== undefined) this.#asked.refuseAnswer(message, size.problem);
      else if (size.isTooLarge) void this.#end("too-large", `it sent a message ${size.problem}`);
      else this.#refuse(message, size.problem);
      return;
    }
    // The answer that a call waits for has a bound of its own.
    if (!this.#messages.take(1) || (allowed === undefined && !this.#chars.take(size))) {
      this.#log("app", { refused: "too many messages" });
      void this.#end("flood", "it sent too many messages");
      return;
    }
    if (!isObject(message) || message["jsonrpc"] !== "2.0") {
      this.#log("app", { refused: "no message of JSON-RPC 2.0" });
      this.#refuse(message, "expected a message of JSON-RPC 2.0");
      return;
    }
    const { id, method, params = {} } = message;
    if (method === undefined) this.#receiveAnswer(message);
    else if (typeof method !== "string") this.#refuse(message, "method: expected a text");
    else if (id === undefined) this.#receiveNotification(method, params);
    else if (typeof id !== "string" && typeof id !== "number") this.#refuse({}, "id: expected a text or a number");
    else void this.#receiveRequest(id, method, params);
  }

  /** Answers what could be read as a request. */
  #refuse(message: unknown, why: string): void {
    const id = isObject(message) && "method" in message ? message["id"] : undefined;
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#fail(id, rpcCodes.invalidRequest, `Invalid request: ${why}`);
  }

  #receiveAnswer(message: JsonObject): void {
    const { id } = message;
    this.#log("app", { answer: id });
    if (id === this.id) this.#onTornDown?.();
    else this.#asked.answer(message);
  }

  #receiveNotification(method: string, params: unknown): void {
    const isOffered = method !== "notifications/tools/list_changed" || this.#tools !== undefined;
    const check = isOffered && Object.hasOwn(appNotifications, method) ? appNotifications[method] : undefined;
    const problem = check ? check(params, "params") : "unknown notification";
    this.#log("app", { method, params, ...(problem !== undefined && { refused: problem }) });
    if (problem !== undefined) return;
    const given = params as JsonObject;
    if (method === "ui/notifications/initialized") this.#becomeReady();
    else if (method === "ui/notifications/request-teardown") void this.close("the app asked for it");
    else if (method === "notifications/tools/list_changed") this.#readTools();
    else if (method === "notifications/message") {
      const text = JSON.stringify(given["data"]) ?? "";
      const data = text.length > maxLogMessageChars ? text.slice(0, maxLogMessageChars) : given["data"];
      this.#options.onLog?.({ level: given["level"] as LogLevel, data });
    } else if (method === "notifications/cancelled") {
      this.#open.get(given["requestId"] as string | number)?.abort(new PortolanError("cancelled", "The app cancelled"));
    }
  }

  #becomeReady(): void {
    if (this.#state !== "starting") return;
    this.#stopStartTimer?.();
    this.#setState("ready");
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) {
      this.#log("host", { method: message["method"] });
      this.#post(message);
    }
    this.#readTools();
  }

  /** Reads the tools of an app that is ready and has declared some. */
  #readTools(): void {
    if (this.#state === "ready" && this.#requests.declaresTools) this.#tools?.request();
  }

  async #receiveRequest(id: string | number, method: string, params: unknown): Promise<void> {
    const isKnown = Object.hasOwn(appRequests, method) && this.#requests.isOffered(method);
    const check = isKnown ? appRequests[method] : undefined;
    const problem = check?.(params, "params");
    const invalid = this.#invalidIn(id, method);
    const refused = check === undefined ? "unknown method" : (problem ?? invalid);
    this.#log("app", { method, request: id, params, ...(refused !== undefined && { refused }) });
    if (check === undefined)
      return this.#fail(id, rpcCodes.methodNotFound, `Method not found: ${method.slice(0, 100)}`);
    if (problem !== undefined) return this.#fail(id, rpcCodes.invalidParams, `Invalid params: ${problem}`);
    if (invalid !== undefined) return this.#fail(id, rpcCodes.invalidRequest, `Invalid request: ${invalid}`);
    const request = new AbortController();
    const signal = AbortSignal.any([request.signal, this.#over.signal]);
    // A ping is answered at once, and its id may be that of another request.
    const isOpen = !this.#open.has(id);
    if (isOpen) this.#open.set(id, request);
    try {
      if (method === "ui/initialize") this.#setState("starting");
      const result = await this.#requests.answer(method, params as JsonObject, signal);
      this.#post({ jsonrpc: "2.0", id, result });
    } catch (thrown) {
      if (thrown instanceof RpcError) this.#fail(id, thrown.code, thrown.message, thrown.data);
      else this.#fail(id, rpcCodes.internalError, toError(thrown).message);
    } finally {
      if (isOpen) this.#open.delete(id);
    }
  }

  /** Returns why a request cannot be answered now. */
  #invalidIn(id: string | number, method: string): string | undefined {
    if (method === "ui/initialize") return this.#state === "loading" ? undefined : "the app is initialized already";
    if (method === "ping") return undefined;
    if (this.#state === "closing") return "the app is being removed";
    if (this.#state !== "ready") return "the app is not initialized";
    if (this.#open.has(id)) return "the id is in use";
    return this.#open.size >= maxAppRequests ? `${maxAppRequests} requests are waiting already` : undefined;
  }

  #fail(id: string | number, code: number, message: string, data?: unknown): void {
    this.#log("host", { request: id, error: message });
    this.#post({ jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } });
  }

  #end(end: AppEnd, reason?: string): Promise<void> {
    this.#closing ??= this.#tearDown(end, reason);
    return this.#closing;
  }

  /** Tells the app of its end. One that misbehaves is not waited for. */
  async #tearDown(end: AppEnd, reason: string | undefined): Promise<void> {
    this.#stopStartTimer?.();
    const wasReady = this.#state === "ready";
    this.#setState("closing");
    this.#asked.end();
    this.#over.abort(new PortolanError("cancelled", "The app is closed"));
    this.#tools?.end();
    this.#log("host", { method: "ui/resource-teardown", end, ...(reason !== undefined && { reason }) });
    if (wasReady) {
      const answered = this.#waitForAnswer();
      this.#post({
        ...{ jsonrpc: "2.0", id: this.id, method: "ui/resource-teardown" },
        params: { ...(reason !== undefined && { reason }) },
      });
      if (end === "closed") await answered;
    }
    this.#setState("closed");
    this.#waiting = [];
    this.#channel?.close();
    this.#settle(end);
  }

  #waitForAnswer(): Promise<void> {
    const { teardownMs = appTeardownMs } = this.#options;
    return new Promise((resolve) => {
      const stop = this.#clock.after(teardownMs, resolve);
      this.#onTornDown = () => {
        stop();
        resolve();
      };
    });
  }

  #log(from: "app" | "host", data: object): void {
    const { run } = this.#options;
    const entry = { kind: "app", server: this.server, name: this.resource.uri, id: this.id, from } as const;
    this.#host.activity.record({ ...entry, ...(run !== undefined && { run }), ...data });
  }
}
