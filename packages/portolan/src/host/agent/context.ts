import type { ModelTool } from "../../models/model.ts";
import { estimateTokens } from "../../models/tokens.ts";
import type { SamplingContent, SamplingMessage } from "../../protocol/types/index.ts";
import type { Aside } from "./prompt.ts";

/** What a request to a model holds. */
export interface Request {
  readonly system: string;
  readonly tools: readonly ModelTool[];
  readonly messages: readonly SamplingMessage[];
}

/** The newest results stay: they are what the model works with. */
const keptMessages = 4;

/**
 * The messages, with old results moved aside until all fits; undefined when even that is too much. Every call keeps its
 * result, if only as a name to read it by.
 */
export function fit(request: Request, maxTokens: number, aside: Aside): readonly SamplingMessage[] | undefined {
  const { system, tools } = request;
  let messages = request.messages;
  let tokens = estimateTokens([system, tools, messages]);
  for (let at = 0; tokens > maxTokens && at < messages.length - keptMessages; at += 1) {
    const message = messages[at];
    if (!message) break;
    const shorter = withoutResults(message, aside);
    if (shorter === message) continue;
    tokens += estimateTokens(shorter) - estimateTokens(message);
    messages = messages.with(at, shorter);
  }
  return tokens > maxTokens ? undefined : messages;
}

function withoutResults(message: SamplingMessage, aside: Aside): SamplingMessage {
  const { content } = message;
  if (!Array.isArray(content) || !content.some(isLong)) return message;
  return { ...message, content: content.map((block) => (isLong(block) ? moveAside(block, aside) : block)) };
}

function isLong(block: SamplingContent): boolean {
  return block.type === "tool_result" && estimateTokens(block) > 200;
}

function moveAside(block: SamplingContent, aside: Aside): SamplingContent {
  if (block.type !== "tool_result") return block;
  const text = block.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
  const name = aside.put(text);
  const note = `[moved aside to make room: read it again with read_more {"name": "${name}", "from": 0}]`;
  return { ...block, content: [{ type: "text", text: note }] };
}
