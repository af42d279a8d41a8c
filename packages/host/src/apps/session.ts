import type { CallToolResult, ContentBlock, JsonObject, LogLevel } from "portolan";
import { PortolanError, RpcError } from "portolan";
import type { Clock } from "portolan/client";
import { checkOptions, isObject, type OptionNames, rpcCodes, toError } from "portolan/internal";
import type { ContentOrigins, Host, HostCallOptions } from "../api.ts";
import { waitFor } from "../consent.ts";
import { maxLogMessageChars } from "../limits.ts";
import { checkBounds } from "../options.ts";
import type { HostAnswers } from "../questions.ts";
import type { AppAccess } from "./access.ts";
import type { AppContext } from "./context.ts";
import {
  appStartMs,
  appTeardownMs,
  maxAppBurst,
  maxAppCharsPerSecond,
  maxAppContextChars,
  maxAppMessageChars,
  maxAppMessagesPerSecond,
  maxAppRequests,
  maxAppSayChars,
  maxAppWaiting,
} from "./limits.ts";
import { Allowance, measure } from "./message.ts";
import {
  type AppDisplayMode,
  type AppSurroundings,
  appNotifications,
  appProtocolVersion,
  appRequests,
  appUriOf,
} from "./protocol.ts";
import { type AppResource, toAppResource } from "./resource.ts";
import { toDeclaration } from "./sources.ts";
import { warningsOf } from "./warnings.ts";

/** How the messages of an app travel: `postMessage` in a browser, anything else elsewhere. */
export interface AppChannel {
  /** Passes each message of the app to `receive`, in the order of their arrival. */
  open(receive: (message: unknown) => void): void;
  /** Sends a message to the app. */
  post(message: JsonObject): void;
  /** Removes the app. Called once, when its session is over. */
  close(): void;
}

/** The state of an app: it loads, starts, is ready, is told of its end, is gone. */
export type AppState = "loading" | "starting" | "ready" | "closing" | "closed";

/** Why an app is gone: the host closed it, it did not start, it sent too much, or its channel failed. */
export type AppEnd = "closed" | "no-start" | "flood" | "too-large" | "failed";

/** Options of `openApp`. */
export interface OpenAppOptions {
  /** The server of the tool. An app reaches no other. */
  readonly server: string;
  /** The tool whose app is shown. */
  readonly tool: string;
  /** The arguments of the call that is shown. Default: none yet; `sendInput` sends them. */
  readonly args?: JsonObject;
  /** The result of the call. A promise that rejects becomes a cancellation. Default: none yet; `sendResult` sends it. */
  readonly result?: CallToolResult | Promise<CallToolResult>;
  /** The id of the call, which the app may read. */
  readonly callId?: string;
  /** The surroundings that the app can read. Default: nothing. */
  readonly surroundings?: AppSurroundings;
  /** Display modes that the application has. Default: ["inline"]. */
  readonly displayModes?: readonly AppDisplayMode[];
  /** Switches to a display mode that the app asks for. Returns the mode that holds then. */
  readonly onDisplayMode?: (mode: AppDisplayMode) => AppDisplayMode | Promise<AppDisplayMode>;
  /** Takes a message that the app wants to send, after the user's consent. Without it, apps send no messages. */
  readonly onMessage?: (content: readonly ContentBlock[]) => void | Promise<void>;
  /** Is told when the app has changed its words beside the conversation. */
  readonly onContext?: (context: AppContext) => void;
  /** Takes the log messages of the app. */
  readonly onLog?: (message: { readonly level: LogLevel; readonly data: unknown }) => void;
  /** Is told of each new state. */
  readonly onState?: (state: AppState) => void;
  /** The conversation that the app's messages and words enter. */
  readonly conversation?: ContentOrigins;
  /** Answers that come before those of the host. */
  readonly answers?: HostAnswers;
  /** The run that the app belongs to. */
  readonly run?: string;
  /** An app that does not start within this time is closed. Default: 60 seconds. */
  readonly startMs?: number;
  /** The app is removed at the latest this long after it was told of its end. Default: 2 seconds. */
  readonly teardownMs?: number;
  /** Closes the app. */
  readonly signal?: AbortSignal;
}

/** An app while it is shown. */
export interface AppSession {
  /** Random, so that it cannot be guessed. */
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly resource: AppResource;
  readonly state: AppState;
  /** Resolves when the app is gone. */
  readonly closed: Promise<AppEnd>;
  /** The last words of the app beside the conversation, until they are taken. */
  readonly context: AppContext | undefined;
  /** Returns the last words of the app for the next turn of the model, and forgets them. */
  takeContext(): AppContext | undefined;
  /** Connects the app, once. */
  connect(channel: AppChannel): void;
  /** Sends arguments that are not complete yet. Ignored after `sendInput`. */
  sendPartialInput(args: JsonObject): void;
  /** Sends the complete arguments, once. */
  sendInput(args: JsonObject): void;
  /** Sends the result of the call, once. */
  sendResult(result: CallToolResult): void;
  /** Says that the call has no result. */
  sendCancelled(reason?: string): void;
  /** Tells the app what has changed in its surroundings. */
  setSurroundings(changed: AppSurroundings): void;
  /** Tells the app that it is removed, waits for its answer or for `teardownMs`, and removes it. */
  close(reason?: string): Promise<void>;
}

const optionNames = {
  ...{ server: 1, tool: 1, args: 1, result: 1, callId: 1, surroundings: 1, displayModes: 1, onDisplayMode: 1 },
  ...{ onMessage: 1, onContext: 1, onLog: 1, onState: 1, conversation: 1, answers: 1, run: 1 },
  ...{ startMs: 1, teardownMs: 1, signal: 1 },
} satisfies OptionNames<OpenAppOptions>;

/**
 * Opens the app of a tool: reads it, asks the user whether it may be shown, and returns its session. The app appears when
 * a channel is connected, such as by `mountApp` of `portolan-host/apps/web`.
 */
export async function openApp(host: Host, options: OpenAppOptions): Promise<AppSession> {
  checkOptions(options, optionNames, "openApp");
  const { server, tool, signal, answers, run, startMs, teardownMs } = options;
  checkBounds("", { startMs, teardownMs });
  // The call may fail before the app is there, which `sendCancelled` tells it later.
  if (options.result && "then" in options.result) options.result.catch(() => {});
  const access = accessOf(host);
  await access.settled(server, signal);
  const definition = host.catalog.tool(server, tool)?.definition;
  if (!definition)
    throw new PortolanError("invalid-argument", `openApp: ${server} has no tool ${JSON.stringify(tool)}`);
  const uri = appUriOf(definition);
  if (uri === undefined) throw new PortolanError("invalid-argument", `openApp: ${server}.${tool} has no app`);
  const call: HostCallOptions = {
    ...(signal && { signal }),
    ...(answers && { answers }),
    ...(run !== undefined && { run }),
  };
  // Nothing of it reaches a model, so reading it needs no consent; showing it does.
  const read = await host.readResource(server, uri, { ...call, by: "app" });
  const listed = host.catalog.resources.find((one) => one.server === server && one.uri === uri);
  const resource = toAppResource(uri, read, listed);
  const id = crypto.randomUUID();
  const { sources, permissions } = resource;
  const warnings = warningsOf(resource);
  await access.permit(id, server, { kind: "app", uri, tool, permissions, warnings, ...(sources && { sources }) }, call);
  return new LocalSession(host, access, options, { id, resource, definition: { ...definition } });
}

function accessOf(host: Host): AppAccess {
  const own = host as Host & { readonly appAccess?: AppAccess };
  if (own.appAccess) return own.appAccess;
  throw new PortolanError("invalid-argument", "openApp: expected a host made by createHost");
}

interface AppParts {
  readonly id: string;
  readonly resource: AppResource;
  readonly definition: JsonObject;
}

class LocalSession implements AppSession {
  readonly id: string;
  readonly resource: AppResource;
  readonly closed: Promise<AppEnd>;
  readonly #host: Host;
  readonly #access: AppAccess;
  readonly #options: OpenAppOptions;
  readonly #definition: JsonObject;
  readonly #clock: Clock;
  /** Aborts everything that is done for the app. */
  readonly #over = new AbortController();
  readonly #messages: Allowance;
  readonly #chars: Allowance;
  readonly #settle: (end: AppEnd) => void;
  /** Requests of the app that wait for an answer. */
  readonly #open = new Map<string | number, AbortController>();
  #state: AppState = "loading";
  #channel: AppChannel | undefined;
  #context: AppContext | undefined;
  #surroundings: AppSurroundings;
  /** Display modes that the app declared; undefined if it declared none. */
  #ownModes: readonly unknown[] | undefined;
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
    this.#access = access;
    this.#options = options;
    this.#definition = definition;
    this.#clock = access.clock;
    this.#surroundings = { ...options.surroundings };
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
    return this.#context;
  }

  takeContext(): AppContext | undefined {
    const context = this.#context;
    this.#context = undefined;
    if (context) this.#markConversation();
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
    this.#surroundings = { ...this.#surroundings, ...changed };
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
    const size = measure(message);
    if (typeof size !== "number") {
      this.#log("app", { refused: size.problem });
      if (size.isTooLarge) void this.#end("too-large", `it sent a message ${size.problem}`);
      else this.#refuse(message, size.problem);
      return;
    }
    if (!this.#messages.take(1) || !this.#chars.take(size)) {
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

  #receiveAnswer({ id }: JsonObject): void {
    this.#log("app", { answer: id });
    if (id === this.id) this.#onTornDown?.();
  }

  #receiveNotification(method: string, params: unknown): void {
    const check = Object.hasOwn(appNotifications, method) ? appNotifications[method] : undefined;
    const problem = check ? check(params, "params") : "unknown notification";
    this.#log("app", { method, params, ...(problem !== undefined && { refused: problem }) });
    if (problem !== undefined) return;
    const given = params as JsonObject;
    if (method === "ui/notifications/initialized") this.#becomeReady();
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
  }

  async #receiveRequest(id: string | number, method: string, params: unknown): Promise<void> {
    const check = Object.hasOwn(appRequests, method) ? appRequests[method] : undefined;
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
      const result = await this.#answer(method, params as JsonObject, signal);
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

  #answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> | JsonObject {
    switch (method) {
      case "ui/initialize":
        return this.#initialize(params);
      case "tools/call":
        return this.#callTool(params, signal);
      case "resources/read":
        return this.#host.readResource(this.server, params["uri"] as string, {
          // The app of a server reads what the server itself has: nothing reaches a model.
          ...this.#callOptions(signal),
        }) as Promise<object> as Promise<JsonObject>;
      case "ui/open-link":
        return this.#openLink(params["url"] as string, signal);
      case "ui/message":
        return this.#say(params["content"] as ContentBlock[], signal);
      case "ui/update-model-context":
        return this.#updateContext(params);
      case "ui/request-display-mode":
        return this.#changeDisplayMode(params["mode"]);
      default:
        return {};
    }
  }

  #initialize({ appCapabilities, appInfo }: JsonObject): JsonObject {
    this.#setState("starting");
    const modes = isObject(appCapabilities) ? appCapabilities["availableDisplayModes"] : undefined;
    if (Array.isArray(modes)) this.#ownModes = modes;
    const { callId, displayModes = ["inline"], onMessage } = this.#options;
    const { displayMode = "inline" } = this.#surroundings;
    const canSay = onMessage !== undefined && this.#access.say(this.server, this.#options) !== undefined;
    this.#log("host", { method: "ui/initialize", app: appInfo });
    return {
      protocolVersion: appProtocolVersion,
      hostInfo: this.#access.info,
      hostCapabilities: {
        ...(this.#access.visit(this.server, this.#options) && { openLinks: {} }),
        serverTools: {},
        serverResources: {},
        logging: {},
        sandbox: toDeclaration(this.resource),
        updateModelContext: { text: {}, structuredContent: {} },
        ...(canSay && { message: { text: {} } }),
      },
      hostContext: {
        ...this.#surroundings,
        toolInfo: { ...(callId !== undefined && { id: callId }), tool: this.#definition },
        displayMode,
        availableDisplayModes: displayModes,
      },
    };
  }

  #callOptions(signal: AbortSignal): HostCallOptions {
    const { answers, run } = this.#options;
    return { by: "app", signal, ...(answers && { answers }), ...(run !== undefined && { run }) };
  }

  /** Calls a tool of the app's own server. The host checks that the server has the tool for apps, and asks the user. */
  async #callTool({ name, arguments: args }: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    try {
      const call = this.#callOptions(signal);
      const result = await this.#host.callTool(this.server, name as string, (args as JsonObject) ?? {}, call);
      return { ...result };
    } catch (thrown) {
      if (thrown instanceof RpcError) throw thrown;
      const { message, ...error } = toError(thrown) as Error & { code?: unknown };
      // An unknown tool, and one that is for the model alone, are refused by the protocol.
      if (error.code === "invalid-argument") throw new RpcError(rpcCodes.invalidParams, message);
      return { isError: true, content: [{ type: "text", text: message }] };
    }
  }

  async #openLink(url: string, signal: AbortSignal): Promise<JsonObject> {
    const visit = this.#access.visit(this.server, this.#options);
    const isWeb = URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);
    if (!visit || !isWeb) return { isError: true };
    const message = `An app of ${this.server} wants to open this address.`;
    const params = { mode: "url", url, message, elicitationId: crypto.randomUUID() } as const;
    const answer = await this.#ask(async () => visit(params, { server: undefined, signal }));
    return answer?.action === "accept" ? {} : { isError: true };
  }

  async #say(content: readonly ContentBlock[], signal: AbortSignal): Promise<JsonObject> {
    const { onMessage } = this.#options;
    const say = this.#access.say(this.server, this.#options);
    const isText = content.length > 0 && content.every((one) => one.type === "text" && typeof one.text === "string");
    if (!onMessage || !say || !isText || JSON.stringify(content).length > maxAppSayChars) return { isError: true };
    const isAllowed = await this.#ask(() => say(this.resource.uri, content, signal));
    if (!isAllowed) return { isError: true };
    // The words are the server's, whoever agreed to them.
    this.#markConversation();
    await onMessage(content);
    return {};
  }

  /** A question that cannot be asked, or is asked too often, is a no. */
  async #ask<T>(question: () => Promise<T>): Promise<T | undefined> {
    try {
      return await waitFor(question(), this.#over.signal);
    } catch (reason) {
      this.#log("host", { unanswered: toError(reason).message });
      return undefined;
    }
  }

  #updateContext({ content = [], structuredContent }: JsonObject): JsonObject {
    const blocks = content as readonly ContentBlock[];
    if (!blocks.every((one) => one.type === "text" && typeof one.text === "string")) {
      throw new RpcError(rpcCodes.invalidParams, "Invalid params: content: expected blocks of text");
    }
    if (JSON.stringify([content, structuredContent]).length > maxAppContextChars) {
      throw new RpcError(rpcCodes.invalidParams, `Invalid params: expected at most ${maxAppContextChars} characters`);
    }
    this.#context = {
      server: this.server,
      app: this.resource.uri,
      content: blocks,
      ...(structuredContent !== undefined && { structuredContent: structuredContent as JsonObject }),
    };
    this.#options.onContext?.(this.#context);
    return {};
  }

  async #changeDisplayMode(mode: unknown): Promise<JsonObject> {
    const { displayModes = ["inline"], onDisplayMode } = this.#options;
    const { displayMode = "inline" } = this.#surroundings;
    const isOwn = this.#ownModes === undefined || this.#ownModes.includes(mode);
    const wanted = displayModes.find((one) => one === mode);
    if (wanted === undefined || !isOwn || wanted === displayMode || !onDisplayMode) return { mode: displayMode };
    const held = await onDisplayMode(wanted);
    this.#surroundings = { ...this.#surroundings, displayMode: held };
    return { mode: held };
  }

  #markConversation(): void {
    const { conversation } = this.#options;
    if (conversation && !this.#access.trustsContent(this.server)) conversation.contentFrom.add(this.server);
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
    this.#over.abort(new PortolanError("cancelled", "The app is closed"));
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
