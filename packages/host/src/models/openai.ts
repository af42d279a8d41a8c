import type {
  AudioContent,
  ImageContent,
  JsonObject,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
} from "portolan";
import { checkNeeds, needsOf } from "./choose.ts";
import { exchange, type TurnReader } from "./http/exchange.ts";
import { createProvider, type Provider, type ProviderOptions } from "./http/provider.ts";
import { Gathering, type OpenCall, toCount } from "./http/turn.ts";
import { blocksOf, resultText } from "./messages.ts";
import type { Model, ModelCapabilities, ModelRequest } from "./model.ts";

export interface OpenAiOptions extends ProviderOptions {
  /** What stands before `/chat/completions`: `https://api.openai.com/v1`, `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  /** Known for some hosts; what is given here counts. */
  readonly quirks?: OpenAiQuirks;
}

/** A model behind the Chat Completions dialect, which OpenAI and most other providers and local servers speak. */
export function openaiCompatible(options: OpenAiOptions): Model {
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
      checkNeeds({ id, capabilities }, needsOf(request));
      const body = toChatRequest(request, { model, quirks, capabilities, extra: options.extra });
      const passed = request.metadata && options.passMetadata?.(request.metadata);
      yield* exchange(provider, request, { ...passed, ...body }, () => new OpenAiReader(provider, request, model));
    },
  };
}

export interface ChatRequestOptions {
  readonly model: string;
  readonly quirks: Required<OpenAiQuirks>;
  readonly capabilities: ModelCapabilities;
  readonly extra?: JsonObject | undefined;
}

/** A request in the words of Chat Completions. */
export function toChatRequest(request: ModelRequest, options: ChatRequestOptions): JsonObject {
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

/** Messages of one role that follow each other. */
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
    if (!isShown(block, capabilities)) return `[${type} left out: this model does not take it]`;
    shown += 1;
    return `[${type} ${shown}: see the next message]`;
  };
  const said = run.map((message) => blocksOf(message).filter((block) => !isResult(block)));
  return [
    // Nothing may stand between a call and its answers, which hold text only.
    ...results.map((result) => ({
      role: "tool",
      tool_call_id: result.toolUseId,
      content: toToolText(result, toMedia),
    })),
    ...(media.length === 0
      ? []
      : [{ role: "user", content: [{ type: "text", text: introduce(media) }, ...media.map(toPart)] }]),
    ...said.filter((blocks) => blocks.length > 0).map((blocks) => ({ role: "user", content: toContent(blocks) })),
  ];
}

function introduce(media: readonly (ImageContent | AudioContent)[]): string {
  return `What the tools answered with, in this order: ${media.map(({ type }, index) => `${type} ${index + 1}`).join(", ")}`;
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

/** `wav` and `mp3` are what the dialect knows. */
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

/** A call that is coming in pieces, and what its provider calls it. */
interface Coming {
  readonly call: OpenCall;
  readonly index: number | undefined;
  readonly id: string;
}

/** Reads Chat Completions: chunks, or one whole answer. */
export class OpenAiReader implements TurnReader {
  readonly turn: Gathering;
  readonly #coming: Coming[] = [];
  #hasRefused = false;
  #isDone = false;

  constructor(provider: Provider, request: ModelRequest, model: string) {
    this.turn = new Gathering(provider, request, model);
  }

  hear(data: JsonObject): boolean {
    this.#hearAround(data);
    const choice = firstChoice(data);
    if (choice === undefined) return false;
    this.#hearMessage(objectIn(choice, "delta") ?? objectIn(choice, "message") ?? {});
    this.#hearReason(choice["finish_reason"]);
    // Usage comes after the reason, in an event of its own.
    return false;
  }

  hearWhole(body: JsonObject): void {
    this.#hearAround(body);
    const choice = firstChoice(body);
    if (choice === undefined) return;
    this.#hearMessage(objectIn(choice, "message") ?? {});
    this.turn.stopReason ??= "endTurn";
    this.#hearReason(choice["finish_reason"]);
  }

  finish(isToldSo: boolean): boolean {
    if (this.#isDone) return true;
    if (this.turn.stopReason === undefined && !isToldSo) return false;
    this.#isDone = true;
    for (const { call } of this.#coming) this.turn.closeCall(call);
    this.turn.end(this.#stopReason());
    return true;
  }

  #stopReason(): string {
    const { stopReason = "endTurn", hasCalls } = this.turn;
    if (this.#hasRefused) return "refusal";
    // Some providers end a turn with calls like any other.
    return hasCalls && stopReason === "endTurn" ? "toolUse" : stopReason;
  }

  #hearAround({ model, usage }: JsonObject): void {
    if (typeof model === "string" && model !== "") this.turn.model = model;
    if (typeof usage !== "object" || usage === null) return;
    const { prompt_tokens: input, completion_tokens: output } = usage as JsonObject;
    this.turn.inputTokens = toCount(input) ?? this.turn.inputTokens;
    this.turn.outputTokens = toCount(output) ?? this.turn.outputTokens;
  }

  #hearReason(reason: unknown): void {
    if (typeof reason === "string" && reason !== "") this.turn.stopReason = stopReasons[reason] ?? reason;
  }

  #hearMessage(message: JsonObject): void {
    const { content, refusal, reasoning_content: thought, reasoning, tool_calls: calls } = message;
    // One of the two: a few providers send both, with the same text.
    this.turn.thinking(typeof thought === "string" && thought !== "" ? thought : reasoning);
    if (Array.isArray(content)) for (const part of content) this.turn.text(isObject(part) ? part["text"] : undefined);
    else this.turn.text(content);
    if (typeof refusal === "string" && refusal !== "") {
      this.#hasRefused = true;
      this.turn.text(refusal);
    }
    if (Array.isArray(calls)) for (const call of calls) if (isObject(call)) this.#hearCall(call);
  }

  #hearCall(piece: JsonObject): void {
    const { name, arguments: part } = objectIn(piece, "function") ?? {};
    const id = typeof piece["id"] === "string" ? piece["id"] : "";
    const index = typeof piece["index"] === "number" ? piece["index"] : undefined;
    const hasName = typeof name === "string" && name !== "";
    const found = this.#find(id, index, hasName);
    const known = found !== undefined && hasName && isNext(found.call, part) ? undefined : found;
    if (known === undefined) {
      const call = this.turn.openCall(id, name);
      this.#coming.push({ call, index, id });
      this.turn.addArguments(call, part);
      return;
    }
    if (known.call.chars === 0) this.turn.addName(known.call, name);
    this.turn.addArguments(known.call, part);
  }

  /** The call that a piece belongs to; undefined when it begins one. */
  #find(id: string, index: number | undefined, hasName: boolean): Coming | undefined {
    const byIndex = index === undefined ? undefined : this.#coming.findLast((one) => one.index === index);
    // The same place with another id is another call: some providers count all of them as the first.
    if (byIndex !== undefined) return id !== "" && byIndex.id !== "" && id !== byIndex.id ? this.#byId(id) : byIndex;
    if (index !== undefined) return undefined;
    if (id !== "") return this.#byId(id);
    return hasName ? undefined : this.#coming.at(-1);
  }

  #byId(id: string): Coming | undefined {
    return this.#coming.find((one) => one.id === id);
  }
}

/** One object right after another is no JSON: these are the arguments of the next call, in the place of the one before. */
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

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** In what providers of the OpenAI dialect differ. */
export interface OpenAiQuirks {
  /** What the bound on tokens is called. */
  readonly maxTokens?: "max_tokens" | "max_completion_tokens";
  /** Who speaks the system prompt. */
  readonly systemRole?: "system" | "developer";
  /** Whether usage is asked for with `stream_options`. */
  readonly streamUsage?: boolean;
  /** Whether `required` may be asked for, or only hoped for. */
  readonly requiredTools?: boolean;
}

const usual: Required<OpenAiQuirks> = {
  maxTokens: "max_tokens",
  systemRole: "system",
  streamUsage: true,
  requiredTools: true,
};

const byHost: readonly (readonly [RegExp, OpenAiQuirks])[] = [
  // Its reasoning models refuse the older name, and the others take both.
  [/^api\.openai\.com$|\.openai\.azure\.com$/, { maxTokens: "max_completion_tokens" }],
  // Sends usage unasked, and refuses members that it does not know.
  [/^api\.mistral\.ai$/, { streamUsage: false }],
];

/** The quirks of a host, with what the application knows better. */
export function quirksOf(host: string, own: OpenAiQuirks = {}): Required<OpenAiQuirks> {
  const known = byHost.find(([pattern]) => pattern.test(host))?.[1];
  return { ...usual, ...known, ...own };
}
