import type {
  AudioContent,
  ImageContent,
  JsonObject,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
} from "portolan";
import { blocksOf, resultText } from "../messages.ts";
import type { ModelCapabilities, ModelRequest } from "../model.ts";
import type { OpenAiQuirks } from "./quirks.ts";

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
