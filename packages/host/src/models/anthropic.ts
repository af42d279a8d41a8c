import type { JsonObject, SamplingContent, SamplingMessage, ToolResultContent } from "portolan";
import { checkOptions, isObject, type OptionNames } from "portolan/internal";
import { checkCapabilities, requirementsOf } from "./choose.ts";
import { exchange, type TurnReader } from "./http/exchange.ts";
import { createProvider, type Provider, type ProviderOptions, providerOptionNames } from "./http/provider.ts";
import { type OpenCall, TurnBuilder, toCount } from "./http/turn.ts";
import { blocksOf, resultText } from "./messages.ts";
import type { Model, ModelCapabilities, ModelRequest } from "./model.ts";

/** The version of the Messages API. It is split so that no check takes the date for a revision of MCP. */
const apiVersion = ["2023", "06", "01"].join("-");

/** Options of `anthropic`. */
export interface AnthropicOptions extends ProviderOptions {
  /** The URL before `/v1/messages`; `/v1` at its end is optional. Default: `https://api.anthropic.com`. */
  readonly baseUrl?: string;
  /** The `anthropic-version` header. Default: 2023-06-01. */
  readonly version?: string;
}

const optionNames: OptionNames<AnthropicOptions> = { ...providerOptionNames, baseUrl: 1, version: 1 };

/** Creates a model that uses the Messages API. */
export function anthropic(options: AnthropicOptions): Model {
  checkOptions(options, optionNames, "anthropic");
  const { model, apiKey, traits, capabilities: stated, version = apiVersion } = options;
  const key = { "anthropic-version": version, ...(apiKey !== undefined && { "x-api-key": apiKey }) };
  const { baseUrl = "https://api.anthropic.com" } = options;
  // The vendor's own convention has no `/v1`; addresses of OpenAI-compatible providers end with it.
  const path = /\/v1\/*(?:[?#]|$)/.test(baseUrl) ? "/messages" : "/v1/messages";
  const provider = createProvider(options, baseUrl, path, key);
  const capabilities = { tools: true, images: true, ...stated };
  const id = options.id ?? model;
  return {
    id,
    capabilities,
    ...(traits !== undefined && { traits }),
    async *stream(request: ModelRequest) {
      checkCapabilities({ id, capabilities }, requirementsOf(request));
      const body = toMessagesRequest(request, { model, capabilities, extra: options.extra });
      const passed = request.metadata && options.passMetadata?.(request.metadata);
      yield* exchange(provider, request, { ...passed, ...body }, () => new AnthropicReader(provider, request, model));
    },
  };
}

interface MessagesRequestOptions {
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  readonly extra?: JsonObject | undefined;
}

const toolChoices = { auto: "auto", required: "any", none: "none" } as const;

/** Converts a request to the Messages API. */
function toMessagesRequest(request: ModelRequest, options: MessagesRequestOptions): JsonObject {
  const { system, messages, tools = [], toolChoice, maxTokens, temperature, stopSequences = [] } = request;
  const { model, capabilities, extra } = options;
  return {
    ...extra,
    model,
    max_tokens: maxTokens,
    messages: messages.map((message) => toMessage(message, capabilities)),
    stream: true,
    ...(system !== undefined && system !== "" && { system }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences.length > 0 && { stop_sequences: stopSequences }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        name,
        ...(description !== undefined && { description }),
        input_schema: inputSchema,
      })),
      tool_choice: { type: toolChoices[toolChoice?.mode ?? "auto"] },
    }),
  };
}

function toMessage(message: SamplingMessage, capabilities: ModelCapabilities): JsonObject {
  const blocks = blocksOf(message).flatMap((block) => toBlock(block, capabilities));
  const isResult = ({ type }: JsonObject) => type === "tool_result";
  // The API wants tool results first, and no empty message.
  const ordered = [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
  return { role: message.role, content: ordered.length > 0 ? ordered : [{ type: "text", text: "(nothing)" }] };
}

function toBlock(block: SamplingContent, capabilities: ModelCapabilities): JsonObject[] {
  switch (block.type) {
    case "text":
      return toText(block.text);
    case "image":
      return [toImage(block)];
    case "audio":
      return toText(`[audio: ${block.mimeType}]`);
    case "tool_use":
      return [{ type: "tool_use", id: toId(block.id), name: block.name, input: block.input }];
    case "tool_result":
      return [toResult(block, capabilities)];
    default:
      return [];
  }
}

function toResult(result: ToolResultContent, capabilities: ModelCapabilities): JsonObject {
  const parts = result.content.flatMap((part) => {
    if (part.type === "image" && capabilities.images) return [toImage(part)];
    return toText(resultText({ type: "tool_result", toolUseId: "", content: [part] }));
  });
  return {
    type: "tool_result",
    tool_use_id: toId(result.toolUseId),
    content: parts.length > 0 ? parts : toText(resultText({ ...result, content: [] })),
    ...(result.isError === true && { is_error: true }),
  };
}

function toImage({ data, mimeType }: { readonly data: string; readonly mimeType: string }): JsonObject {
  return { type: "image", source: { type: "base64", media_type: mimeType, data } };
}

/** Returns no block for empty text, which the API refuses. */
function toText(text: string): JsonObject[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

/** Replaces characters in ids of other providers that this one refuses. */
function toId(id: string): string {
  return id.replace(/[^\w-]/g, "_") || "_";
}

const stopReasons: { readonly [reason: string]: string } = {
  end_turn: "endTurn",
  max_tokens: "maxTokens",
  stop_sequence: "stopSequence",
  tool_use: "toolUse",
};

/** Reads a response of the Messages API: a stream of events, or one JSON body. */
class AnthropicReader implements TurnReader {
  readonly turn: TurnBuilder;
  readonly #calls = new Map<unknown, OpenCall>();
  #isDone = false;

  constructor(provider: Provider, request: ModelRequest, model: string) {
    this.turn = new TurnBuilder(provider, request, model);
  }

  readEvent(data: JsonObject): boolean {
    switch (data["type"]) {
      case "message_start":
        this.#readModelAndUsage(objectIn(data, "message"));
        return false;
      case "content_block_start":
        this.#begin(data["index"], objectIn(data, "content_block"));
        return false;
      case "content_block_delta":
        this.#add(data["index"], objectIn(data, "delta"));
        return false;
      case "content_block_stop":
        this.#close(data["index"]);
        return false;
      case "message_delta":
        this.#readStopReason(objectIn(data, "delta"));
        this.#readUsage(objectIn(data, "usage"));
        return false;
      case "message_stop":
        return true;
      default:
        // A ping, or an event of a later version.
        return false;
    }
  }

  readBody(body: JsonObject): void {
    if (!Array.isArray(body["content"])) return;
    this.#readModelAndUsage(body);
    this.turn.stopReason ??= "endTurn";
    this.#readStopReason(body);
    for (const [index, block] of body["content"].entries()) {
      if (!isObject(block)) continue;
      this.#begin(index, block);
      this.#close(index);
    }
  }

  finish(hasEndMarker: boolean): boolean {
    if (this.#isDone) return true;
    if (this.turn.stopReason === undefined && !hasEndMarker) return false;
    this.#isDone = true;
    for (const index of [...this.#calls.keys()]) this.#close(index);
    this.turn.end(this.turn.stopReason ?? (this.turn.hasCalls ? "toolUse" : "endTurn"));
    return true;
  }

  #readModelAndUsage(message: JsonObject): void {
    const { model } = message;
    if (typeof model === "string" && model !== "") this.turn.model = model;
    this.#readUsage(objectIn(message, "usage"));
  }

  #readStopReason({ stop_reason: reason }: JsonObject): void {
    if (typeof reason === "string" && reason !== "") this.turn.stopReason = stopReasons[reason] ?? reason;
  }

  /** Reads token counts. Cached tokens count as input; the output count is cumulative. */
  #readUsage(usage: JsonObject): void {
    const input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].map((name) =>
      toCount(usage[name]),
    );
    if (input[0] !== undefined) this.turn.inputTokens = input.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    this.turn.outputTokens = toCount(usage["output_tokens"]) ?? this.turn.outputTokens;
  }

  #begin(index: unknown, block: JsonObject): void {
    const { type, text, thinking, id, name, input } = block;
    if (type === "text") this.turn.text(text);
    else if (type === "thinking") this.turn.thinking(thinking);
    else if (type === "tool_use") {
      const call = this.turn.openCall(id, name);
      this.#calls.set(index, call);
      // In a stream the input is empty here and follows in pieces.
      if (isObject(input) && Object.keys(input).length > 0) this.turn.addArguments(call, input);
    }
  }

  #add(index: unknown, delta: JsonObject): void {
    const call = this.#calls.get(index);
    if (delta["type"] === "text_delta") this.turn.text(delta["text"]);
    else if (delta["type"] === "thinking_delta") this.turn.thinking(delta["thinking"]);
    else if (delta["type"] === "input_json_delta" && call !== undefined) {
      this.turn.addArguments(call, delta["partial_json"]);
    }
  }

  #close(index: unknown): void {
    const call = this.#calls.get(index);
    if (call === undefined) return;
    this.#calls.delete(index);
    this.turn.closeCall(call);
  }
}

function objectIn(value: JsonObject, member: string): JsonObject {
  const found = value[member];
  return isObject(found) ? found : {};
}
