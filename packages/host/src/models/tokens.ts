import type { ContentBlock, SamplingContent, SamplingMessage } from "portolan";
import type { ModelTool } from "./model.ts";

/** Returns the number of tokens of a text. */
export type CountTokens = (text: string) => number;

/** A value whose tokens can be estimated. */
export type Estimable = string | SamplingMessage | SamplingContent | ContentBlock | ModelTool | readonly Estimable[];

const charactersPerToken = 3.6;
const perImage = 1_500;
const audioCharactersPerToken = 600;
/** The overhead of providers for each message and tool. */
const perItem = 4;

/** Estimates the tokens of a value. Default: by the number of characters. Pass `count` for the tokenizer of a model. */
export function estimateTokens(value: Estimable, count: CountTokens = byLength): number {
  if (typeof value === "string") return count(value);
  if (isList(value)) return value.reduce<number>((sum, item) => sum + estimateTokens(item, count), 0);
  // Checked first: a block has a `type`, and servers can add any other member.
  if (!("type" in value)) {
    if ("role" in value) return perItem + estimateTokens(value.content, count);
    return perItem + count(`${value.name} ${value.description ?? ""} ${JSON.stringify(value.inputSchema)}`);
  }
  switch (value.type) {
    case "text":
      return count(value.text);
    case "image":
      return perImage;
    case "audio":
      return Math.ceil(value.data.length / audioCharactersPerToken);
    case "tool_use":
      return perItem + count(`${value.name} ${JSON.stringify(value.input)}`);
    case "tool_result":
      return perItem + estimateTokens(value.content, count);
    default:
      return count(JSON.stringify(value));
  }
}

/** Estimates by characters: good enough for most languages and models, and fast. */
function byLength(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

/** Returns the beginning of a text with at most this many tokens. */
export function cutToTokens(text: string, maxTokens: number): string {
  return text.slice(0, Math.floor(maxTokens * charactersPerToken));
}

function isList(value: Estimable): value is readonly Estimable[] {
  return Array.isArray(value);
}
