import type {
  AudioContent,
  ImageContent,
  JsonObject,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
} from "portolan";
import { checkOptions, isObject, type OptionNames } from "portolan/internal";
import { checkCapabilities, requirementsOf } from "./choose.ts";
import { exchange, type TurnReader } from "./http/exchange.ts";
import { createProvider, type Provider, type ProviderOptions, providerOptionNames } from "./http/provider.ts";
import { type OpenCall, TurnBuilder, toCount } from "./http/turn.ts";
import { blocksOf, resultText } from "./messages.ts";
import type { Model, ModelCapabilities, ModelRequest } from "./model.ts";

/** Options of `openaiCompatible`. */
export interface OpenAiOptions extends ProviderOptions {
  /** The URL before `/chat/completions`: `https://api.openai.com/v1`, `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  /** Differences of this provider. Default: known for some hosts. */
  readonly quirks?: OpenAiQuirks;
}

const optionNames: OptionNames<OpenAiOptions> = { ...providerOptionNames, baseUrl: 1, quirks: 1 };

/**
 * Creates a model that uses the Chat Completions API of OpenAI, which most other providers and local servers support
 * too.
 */
export function openaiCompatible(options: OpenAiOptions): Model {
  checkOptions(options, optionNames, "openaiCompatible");
  const { model, apiKey, traits, capabilities: stated } = options;
  const key = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const provider = createProvider(options, options.baseUrl, "/chat/completions", key);
  const quirks = quirksOf(provider.url.hostname, options.quirks);
  const capabilities = { tools: true, images: true, ...stated };
  const id = options.id ?? model;
  return {
    id,
    capabilities,
    ...(traits !== undefined && { traits }),
    async *stream(request: ModelRequest) {
      checkCapabilities({ id, capabilities }, requirementsOf(request));
      const body = toChatRequest(request, { model, quirks, capabilities, extra: options.extra });
      const passed = request.metadata && options.passMetadata?.(request.metadata);
      yield* exchange(provider, request, { ...passed, ...body }, () => new OpenAiReader(provider, request, model));
    },
  };
}

interface ChatRequestOptions {
  readonly model: string;
  readonly quirks: Required<OpenAiQuirks>;
  readonly capabilities: ModelCapabilities;
  readonly extra?: JsonObject | undefined;
}

/** Converts a request to the Chat Completions API. */
function toChatRequest(request: ModelRequest, options: ChatRequestOptions): JsonObject {
  const { system, messages, tools = [], toolChoice, maxTokens, temperature, stopSequences = [] } = request;
  const { model, quirks, capabilities, extra } = options;
  const mode = toolChoice?.mode ?? "auto";
  return {
    ...extra,
    model,
    messages: [
      ...(system === undefined ? [] : [{ role: quirks.systemRole, content: system }]),
      ...runsOf(messages).flatMap((run) => toChatMessages(run, capabilities)),
    ],
    [quirks.maxTokens]: maxTokens,
    stream: true,
    ...(quirks.streamUsage && { stream_options: { include_usage: true } }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences.length > 0 && { stop: stopSequences }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: "function",
        function: { name, ...(description !== undefined && { description }), parameters: inputSchema },
      })),
      tool_choice: mode === "required" && !quirks.requiredTools ? "auto" : mode,
    }),
  };
}

/** Groups consecutive messages of one role. */
function runsOf(messages: readonly SamplingMessage[]): SamplingMessage[][] {
  const runs: SamplingMessage[][] = [];
  for (const message of messages) {
    const run = runs.at(-1);
    if (run?.[0]?.role === message.role) run.push(message);
    else runs.push([message]);
  }
  return runs;
}

function toChatMessages(run: readonly SamplingMessage[], capabilities: ModelCapabilities): JsonObject[] {
  if (run[0]?.role === "assistant") return run.map(toAssistant);
  const results = run.flatMap((message) => blocksOf(message).flatMap((block) => (isResult(block) ? [block] : [])));
  const media = results.flatMap(({ content }) =>
    content.flatMap((block) => (isShown(block, capabilities) ? [block] : [])),
  );
  let shown = 0;
  const toMedia = (block: ImageContent | AudioContent) => {
    const { type } = block;
    if (!isShown(block, capabilities)) return `[${type} omitted: this model does not support it]`;
    shown += 1;
    return `[${type} ${shown}: see the next message]`;
  };
  const others = run.map((message) => blocksOf(message).filter((block) => !isResult(block)));
  return [
    // The API allows nothing between a tool call and its results, and only text in results.
    ...results.map((result) => ({
      role: "tool",
      tool_call_id: result.toolUseId,
      content: toToolText(result, toMedia),
    })),
    ...(media.length === 0
      ? []
      : [{ role: "user", content: [{ type: "text", text: introduce(media) }, ...media.map(toPart)] }]),
    ...others.filter((blocks) => blocks.length > 0).map((blocks) => ({ role: "user", content: toContent(blocks) })),
  ];
}

function introduce(media: readonly (ImageContent | AudioContent)[]): string {
  return `Media of the tool results, in this order: ${media.map(({ type }, index) => `${type} ${index + 1}`).join(", ")}`;
}

function toToolText(result: ToolResultContent, toMedia: (block: ImageContent | AudioContent) => string): string {
  const text = resultText(result, toMedia);
  return result.isError === true ? `The tool failed: ${text}` : text;
}

function toAssistant(message: SamplingMessage): JsonObject {
  const blocks = blocksOf(message);
  const calls = blocks.flatMap((block) =>
    block.type === "tool_use"
      ? [{ id: block.id, type: "function", function: { name: block.name, arguments: JSON.stringify(block.input) } }]
      : [],
  );
  const text = blocks
    .flatMap((block) => {
      if (block.type === "text") return [block.text];
      return block.type === "image" || block.type === "audio" ? [`[${block.type}: ${block.mimeType}]`] : [];
    })
    .join("");
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function toContent(blocks: readonly SamplingContent[]): string | JsonObject[] {
  const [only] = blocks;
  if (blocks.length === 1 && only?.type === "text") return only.text;
  return blocks.map(toPart);
}

function toPart(block: SamplingContent): JsonObject {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      return { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } };
    case "audio":
      return { type: "input_audio", input_audio: { data: block.data, format: formatOf(block.mimeType) } };
    default:
      return { type: "text", text: `[${block.type}]` };
  }
}

/** Returns the audio format; the API knows `wav` and `mp3`. */
function formatOf(mimeType: string): string {
  return /mpeg|mp3/.test(mimeType) ? "mp3" : (mimeType.split(/[/;]/)[1]?.replace(/^x-/, "") ?? "wav");
}

function isResult(block: SamplingContent): block is ToolResultContent {
  return block.type === "tool_result";
}

function isShown(
  block: { readonly type: string },
  { images, audio }: ModelCapabilities,
): block is ImageContent | AudioContent {
  return (block.type === "image" && images) || (block.type === "audio" && audio === true);
}

const stopReasons: { readonly [reason: string]: string } = {
  stop: "endTurn",
  length: "maxTokens",
  tool_calls: "toolUse",
  function_call: "toolUse",
  content_filter: "refusal",
};

/** A tool call that arrives in pieces, and the provider's index and id for it. */
interface PartialCall {
  readonly call: OpenCall;
  readonly index: number | undefined;
  readonly id: string;
}

/** Reads a response of the Chat Completions API: a stream of chunks, or one JSON body. */
class OpenAiReader implements TurnReader {
  readonly turn: TurnBuilder;
  readonly #partial: PartialCall[] = [];
  #hasRefused = false;
  #isDone = false;

  constructor(provider: Provider, request: ModelRequest, model: string) {
    this.turn = new TurnBuilder(provider, request, model);
  }

  readEvent(data: JsonObject): boolean {
    this.#readModelAndUsage(data);
    const choice = firstChoice(data);
    if (choice === undefined) return false;
    this.#readMessage(objectIn(choice, "delta") ?? objectIn(choice, "message") ?? {});
    this.#readStopReason(choice["finish_reason"]);
    // Usage follows in a separate event after the stop reason.
    return false;
  }

  readBody(body: JsonObject): void {
    this.#readModelAndUsage(body);
    const choice = firstChoice(body);
    if (choice === undefined) return;
    this.#readMessage(objectIn(choice, "message") ?? {});
    this.turn.stopReason ??= "endTurn";
    this.#readStopReason(choice["finish_reason"]);
  }

  finish(hasEndMarker: boolean): boolean {
    if (this.#isDone) return true;
    if (this.turn.stopReason === undefined && !hasEndMarker) return false;
    this.#isDone = true;
    for (const { call } of this.#partial) this.turn.closeCall(call);
    this.turn.end(this.#stopReason());
    return true;
  }

  #stopReason(): string {
    const { stopReason = "endTurn", hasCalls } = this.turn;
    if (this.#hasRefused) return "refusal";
    // Some providers send the ordinary stop reason for a turn with tool calls.
    return hasCalls && stopReason === "endTurn" ? "toolUse" : stopReason;
  }

  #readModelAndUsage({ model, usage }: JsonObject): void {
    if (typeof model === "string" && model !== "") this.turn.model = model;
    if (typeof usage !== "object" || usage === null) return;
    const { prompt_tokens: input, completion_tokens: output } = usage as JsonObject;
    this.turn.inputTokens = toCount(input) ?? this.turn.inputTokens;
    this.turn.outputTokens = toCount(output) ?? this.turn.outputTokens;
  }

  #readStopReason(reason: unknown): void {
    if (typeof reason === "string" && reason !== "") this.turn.stopReason = stopReasons[reason] ?? reason;
  }

  #readMessage(message: JsonObject): void {
    const { content, refusal, reasoning_content: thought, reasoning, tool_calls: calls } = message;
    // Only one of the two: a few providers send the same text in both.
    this.turn.thinking(typeof thought === "string" && thought !== "" ? thought : reasoning);
    if (Array.isArray(content)) for (const part of content) this.turn.text(isObject(part) ? part["text"] : undefined);
    else this.turn.text(content);
    if (typeof refusal === "string" && refusal !== "") {
      this.#hasRefused = true;
      this.turn.text(refusal);
    }
    if (Array.isArray(calls)) for (const call of calls) if (isObject(call)) this.#readCall(call);
  }

  #readCall(piece: JsonObject): void {
    const { name, arguments: part } = objectIn(piece, "function") ?? {};
    const id = typeof piece["id"] === "string" ? piece["id"] : "";
    const index = typeof piece["index"] === "number" ? piece["index"] : undefined;
    const hasName = typeof name === "string" && name !== "";
    const found = this.#find(id, index, hasName);
    const known = found !== undefined && hasName && isNext(found.call, part) ? undefined : found;
    if (known === undefined) {
      const call = this.turn.openCall(id, name);
      this.#partial.push({ call, index, id });
      this.turn.addArguments(call, part);
      return;
    }
    if (known.call.chars === 0) this.turn.addName(known.call, name);
    this.turn.addArguments(known.call, part);
  }

  /** Returns the call that a piece belongs to; undefined if it starts a new one. */
  #find(id: string, index: number | undefined, hasName: boolean): PartialCall | undefined {
    const byIndex = index === undefined ? undefined : this.#partial.findLast((one) => one.index === index);
    // The same index with another id is another call: some providers send index 0 for all of them.
    if (byIndex !== undefined) return id !== "" && byIndex.id !== "" && id !== byIndex.id ? this.#byId(id) : byIndex;
    if (index !== undefined) return undefined;
    if (id !== "") return this.#byId(id);
    return hasName ? undefined : this.#partial.at(-1);
  }

  #byId(id: string): PartialCall | undefined {
    return this.#partial.find((one) => one.id === id);
  }
}

/** Returns true if a piece starts the next call: a second object after a complete one cannot continue its JSON. */
function isNext({ pieces }: OpenCall, part: unknown): boolean {
  const begins = isObject(part) || (typeof part === "string" && part.startsWith("{"));
  return begins && pieces.at(-1)?.endsWith("}") === true;
}

function firstChoice({ choices }: JsonObject): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.find((choice): choice is JsonObject => isObject(choice) && (choice["index"] ?? 0) === 0);
}

function objectIn(value: JsonObject, member: string): JsonObject | undefined {
  const found = value[member];
  return isObject(found) ? found : undefined;
}

/** Differences between providers of the Chat Completions API. */
export interface OpenAiQuirks {
  /** The name of the token limit. Default: `max_tokens`. */
  readonly maxTokens?: "max_tokens" | "max_completion_tokens";
  /** The role of the system prompt. Default: `system`. */
  readonly systemRole?: "system" | "developer";
  /** Request usage with `stream_options`. Default: true. */
  readonly streamUsage?: boolean;
  /** The provider supports `tool_choice: "required"`. Otherwise `auto` is sent. Default: true. */
  readonly requiredTools?: boolean;
}

const usual: Required<OpenAiQuirks> = {
  maxTokens: "max_tokens",
  systemRole: "system",
  streamUsage: true,
  requiredTools: true,
};

const byHost: readonly (readonly [RegExp, OpenAiQuirks])[] = [
  // Reasoning models of OpenAI refuse the older name; the others accept both.
  [/^api\.openai\.com$|\.openai\.azure\.com$/, { maxTokens: "max_completion_tokens" }],
  // Mistral always sends usage, and refuses unknown members.
  [/^api\.mistral\.ai$/, { streamUsage: false }],
];

/** Returns the quirks of a host, overridden by those of the application. */
function quirksOf(host: string, own: OpenAiQuirks = {}): Required<OpenAiQuirks> {
  const known = byHost.find(([pattern]) => pattern.test(host))?.[1];
  return { ...usual, ...known, ...own };
}
