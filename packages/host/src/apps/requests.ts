import type { ContentBlock, CreateMessageParams, JsonObject } from "portolan";
import { RpcError } from "portolan";
import type { Answers } from "portolan/client";
import { isObject, rpcCodes, toError } from "portolan/internal";
import type { Host, HostCallOptions } from "../api.ts";
import { waitFor } from "../consent.ts";
import type { AppAccess } from "./access.ts";
import type { OpenAppOptions } from "./api.ts";
import type { AppContext } from "./context.ts";
import { toAppFiles } from "./files.ts";
import { maxAppContextChars, maxAppSayChars } from "./limits.ts";
import { type AppSurroundings, appProtocolVersion } from "./protocol.ts";
import type { AppResource } from "./resource.ts";
import { toDeclaration } from "./sources.ts";

/** The session whose app asks. */
export interface AskingSession {
  readonly host: Host;
  readonly access: AppAccess;
  readonly options: OpenAppOptions;
  readonly resource: AppResource;
  /** The tool whose app it is. */
  readonly definition: JsonObject;
  /** Aborts when the app is removed. */
  readonly over: AbortSignal;
  /** Logs what the host does for the app. */
  log(entry: object): void;
}

/** Answers the requests of an app: it asks the user, and does what the user allows. */
export class AppRequests {
  surroundings: AppSurroundings;
  /** The last words of the app beside the conversation. */
  context: AppContext | undefined;
  readonly #session: AskingSession;
  /** Display modes that the app declared; undefined if it declared none. */
  #ownModes: readonly unknown[] | undefined;
  /** True if the app has declared tools of its own. */
  declaresTools = false;

  constructor(session: AskingSession) {
    this.#session = session;
    this.surroundings = { ...session.options.surroundings };
  }

  get #server(): string {
    return this.#session.options.server;
  }

  /** True if the application has what a method needs. */
  isOffered(method: string): boolean {
    if (method === "ui/download-file") return this.#session.options.onDownload !== undefined;
    return method !== "sampling/createMessage" || this.#sampler !== undefined;
  }

  /** Answers a request whose params are valid. */
  answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> | JsonObject {
    switch (method) {
      case "ui/initialize":
        return this.#initialize(params);
      case "tools/call":
        return this.#callTool(params, signal);
      case "resources/read":
        return this.#session.host.readResource(this.#server, params["uri"] as string, {
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
      case "ui/download-file":
        return this.#offerFiles(params["contents"] as ContentBlock[]);
      case "sampling/createMessage":
        return this.#sample(params, signal);
      default:
        return {};
    }
  }

  #initialize({ appCapabilities, appInfo }: JsonObject): JsonObject {
    const modes = isObject(appCapabilities) ? appCapabilities["availableDisplayModes"] : undefined;
    if (Array.isArray(modes)) this.#ownModes = modes;
    this.declaresTools = isObject(appCapabilities) && isObject(appCapabilities["tools"]);
    const { callId, displayModes = ["inline"], onMessage } = this.#session.options;
    const { displayMode = "inline" } = this.surroundings;
    const canSay =
      onMessage !== undefined && this.#session.access.say(this.#server, this.#session.options) !== undefined;
    this.#session.log({ method: "ui/initialize", app: appInfo });
    return {
      protocolVersion: appProtocolVersion,
      hostInfo: this.#session.access.info,
      hostCapabilities: {
        ...(this.#session.access.visit(this.#server, this.#session.options) && { openLinks: {} }),
        serverTools: {},
        serverResources: {},
        logging: {},
        sandbox: toDeclaration(this.#session.resource),
        updateModelContext: { text: {}, structuredContent: {} },
        ...(canSay && { message: { text: {} } }),
        ...(this.isOffered("ui/download-file") && { downloadFile: {} }),
        ...(this.isOffered("sampling/createMessage") && { sampling: {} }),
      },
      hostContext: {
        ...this.surroundings,
        toolInfo: { ...(callId !== undefined && { id: callId }), tool: this.#session.definition },
        displayMode,
        availableDisplayModes: displayModes,
      },
    };
  }

  #callOptions(signal: AbortSignal): HostCallOptions {
    const { answers, run } = this.#session.options;
    return { by: "app", signal, ...(answers && { answers }), ...(run !== undefined && { run }) };
  }

  /** Calls a tool of the app's own server. The host checks that the server has the tool for apps, and asks the user. */
  async #callTool({ name, arguments: args }: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    try {
      const call = this.#callOptions(signal);
      const result = await this.#session.host.callTool(this.#server, name as string, (args as JsonObject) ?? {}, call);
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
    const visit = this.#session.access.visit(this.#server, this.#session.options);
    const isWeb = URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);
    if (!visit || !isWeb) return { isError: true };
    const message = `An app of ${this.#server} wants to open this address.`;
    const params = { mode: "url", url, message, elicitationId: crypto.randomUUID() } as const;
    const answer = await this.#ask(async () => visit(params, { server: undefined, signal }));
    return answer?.action === "accept" ? {} : { isError: true };
  }

  async #say(content: readonly ContentBlock[], signal: AbortSignal): Promise<JsonObject> {
    const { onMessage } = this.#session.options;
    const say = this.#session.access.say(this.#server, this.#session.options);
    const isText = content.length > 0 && content.every((one) => one.type === "text" && typeof one.text === "string");
    if (!onMessage || !say || !isText || JSON.stringify(content).length > maxAppSayChars) return { isError: true };
    const isAllowed = await this.#ask(() => say(this.#session.resource.uri, content, signal));
    if (!isAllowed) return { isError: true };
    // The words are the server's, whoever agreed to them.
    this.markConversation();
    await onMessage(content);
    return {};
  }

  async #offerFiles(contents: readonly ContentBlock[]): Promise<JsonObject> {
    const { onDownload } = this.#session.options;
    const files = toAppFiles(contents);
    const isSaved = files && onDownload && (await this.#ask(async () => onDownload(files)));
    return isSaved ? {} : { isError: true };
  }

  get #sampler(): Answers["sample"] {
    const { access, options } = this.#session;
    return options.sampling ? access.sample(this.#server, options) : undefined;
  }

  async #sample(params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const sample = this.#sampler;
    if (!sample) throw new RpcError(rpcCodes.internalError, "No model can be asked");
    return { ...(await sample(toSamplingParams(params), { server: undefined, signal })) };
  }

  /** A question that cannot be asked, or is asked too often, is a no. */
  async #ask<T>(question: () => Promise<T>): Promise<T | undefined> {
    try {
      return await waitFor(question(), this.#session.over);
    } catch (reason) {
      this.#session.log({ unanswered: toError(reason).message });
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
    this.context = {
      server: this.#server,
      app: this.#session.resource.uri,
      content: blocks,
      ...(structuredContent !== undefined && { structuredContent: structuredContent as JsonObject }),
    };
    this.#session.options.onContext?.(this.context);
    return {};
  }

  async #changeDisplayMode(mode: unknown): Promise<JsonObject> {
    const { displayModes = ["inline"], onDisplayMode } = this.#session.options;
    const { displayMode = "inline" } = this.surroundings;
    const isOwn = this.#ownModes === undefined || this.#ownModes.includes(mode);
    const wanted = displayModes.find((one) => one === mode);
    if (wanted === undefined || !isOwn || wanted === displayMode || !onDisplayMode) return { mode: displayMode };
    const held = await onDisplayMode(wanted);
    this.surroundings = { ...this.surroundings, displayMode: held };
    return { mode: held };
  }

  /** Notes that the conversation has words of the server. */
  markConversation(): void {
    const { conversation } = this.#session.options;
    if (conversation && !this.#session.access.trustsContent(this.#server)) conversation.contentFrom.add(this.#server);
  }
}

/** Returns the members of a sampling request that an app may set. It says nothing of tools, or of the context of others. */
function toSamplingParams(params: JsonObject): CreateMessageParams {
  const { messages, maxTokens, systemPrompt, temperature, stopSequences, modelPreferences } = params;
  for (const { role, content } of messages as readonly JsonObject[]) {
    const blocks = [content].flat();
    const isText = blocks.every(
      (block) => isObject(block) && block["type"] === "text" && typeof block["text"] === "string",
    );
    if (!isText || !["user", "assistant"].includes(role as string))
      throw new RpcError(
        rpcCodes.invalidParams,
        "Invalid params: messages: expected texts of the user or the assistant",
      );
  }
  return {
    messages: messages as CreateMessageParams["messages"],
    maxTokens: maxTokens as number,
    ...(typeof systemPrompt === "string" && { systemPrompt }),
    ...(typeof temperature === "number" && { temperature }),
    ...(Array.isArray(stopSequences) && { stopSequences: stopSequences.map(String) }),
    ...(isObject(modelPreferences) && { modelPreferences }),
  };
}
