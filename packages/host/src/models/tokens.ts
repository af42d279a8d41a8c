import type { ContentBlock, SamplingContent, SamplingMessage } from "portolan";
import type { ModelTool } from "./model.ts";

/** How many tokens a text has. */
export type CountTokens = (text: string) => number;

/** What can be estimated. */
export type Estimable = string | SamplingMessage | SamplingContent | ContentBlock | ModelTool | readonly Estimable[];

const charactersPerToken = 3.6;
const perImage = 1_500;
const audioCharactersPerToken = 600;
/** What providers put around each message and tool. */
const perItem = 4;

/** About how many tokens something takes: by its length, or by what counts for the model at hand. */
export function estimateTokens(value: Estimable, count: CountTokens = byLength): number {
  if (typeof value === "string") return count(value);
  if (isList(value)) return value.reduce<number>((sum, item) => sum + estimateTokens(item, count), 0);
  // A block is one by its type, whatever else it holds: servers write them, too.
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

/** Characters are a fair measure for most languages and models, and cost nothing to count. */
function byLength(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

/** The beginning of a text that takes at most so many tokens. */
export function cutToTokens(text: string, maxTokens: number): string {
  return text.slice(0, Math.floor(maxTokens * charactersPerToken));
}

function isList(value: Estimable): value is readonly Estimable[] {
  return Array.isArray(value);
}
