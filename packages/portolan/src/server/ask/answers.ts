import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams } from "../../protocol/errors.ts";
import type { CreateMessageParams, InputRequest, SamplingContent } from "../../protocol/types/index.ts";
import { array, type Check, object, oneOf, optional, record, string } from "../../schema/shape.ts";

const shapes: { [method: string]: Check } = {
  "elicitation/create": object({ action: oneOf("accept", "decline", "cancel"), content: optional(record()) }),
  "sampling/createMessage": object({ role: oneOf("user", "assistant"), content: content, model: string }),
  "roots/list": object({ roots: array(object({ uri: fileUri, name: optional(string) })) }),
};

/** The answer as an object, or an error that tells the client what is wrong with it. */
export function checkAnswer(key: string, question: InputRequest, answer: unknown): JsonObject {
  const problem = shapes[question.method]?.(answer, `answer "${key}"`);
  if (problem !== undefined) throw invalidParams(problem);
  return answer as JsonObject;
}

function content(value: unknown, path: string): string | undefined {
  const block = object({ type: string });
  return Array.isArray(value) ? array(block)(value, path) : block(value, path);
}

function fileUri(value: unknown, path: string): string | undefined {
  if (typeof value === "string" && value.startsWith("file://")) return undefined;
  return `${path}: expected a file:// URI`;
}

/** Refuses a conversation that the protocol forbids before it reaches the client. */
export function checkSampling(params: CreateMessageParams): void {
  let open = new Set<string>();
  params.messages.forEach((message, index) => {
    const blocks: SamplingContent[] = Array.isArray(message.content) ? message.content : [message.content];
    const results = blocks.filter((block) => block.type === "tool_result");
    if (results.length > 0 && results.length < blocks.length) {
      throw unfit(`messages[${index}]: a message with tool results holds nothing else`);
    }
    for (const result of results) {
      if (!open.delete(result.toolUseId))
        throw unfit(`messages[${index}]: no tool use has the id "${result.toolUseId}"`);
    }
    if (open.size > 0) throw unfit(`messages[${index}]: the tool use "${[...open][0]}" before it has no result`);
    open = new Set(blocks.filter((block) => block.type === "tool_use").map((use) => use.id));
  });
  if (open.size > 0) throw unfit(`messages: the tool use "${[...open][0]}" at the end has no result`);
}

function unfit(why: string): PortolanError {
  return new PortolanError("invalid-argument", `ctx.sample: ${why}`);
}
