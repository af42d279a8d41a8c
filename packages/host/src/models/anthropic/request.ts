import type { JsonObject, SamplingContent, SamplingMessage, ToolResultContent } from "portolan";
import { blocksOf, resultText } from "../messages.ts";
import type { ModelCapabilities, ModelRequest } from "../model.ts";

export interface MessagesRequestOptions {
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  readonly extra?: JsonObject | undefined;
}

const toolChoices = { auto: "auto", required: "any", none: "none" } as const;

/** A request in the words of the Messages API. */
export function toMessagesRequest(request: ModelRequest, options: MessagesRequestOptions): JsonObject {
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
  // Answers stand before what else the user says, and no message is empty.
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

/** Empty text is refused. */
function toText(text: string): JsonObject[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

/** Ids of other providers may have characters that this one refuses. */
function toId(id: string): string {
  return id.replace(/[^\w-]/g, "_") || "_";
}
