import type { ContentBlock, SamplingContent, SamplingMessage, ToolResultContent } from "portolan";

/** Returns the content of a message as a list. */
export function blocksOf({ content }: SamplingMessage): readonly SamplingContent[] {
  return Array.isArray(content) ? content : [content];
}

/** Returns all text of a message. */
export function textOf(message: SamplingMessage): string {
  return blocksOf(message)
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n");
}

/** Returns the text of the last user message that has any. */
export function lastUserText(messages: readonly SamplingMessage[]): string | undefined {
  const message = messages.findLast((one) => one.role === "user" && textOf(one) !== "");
  return message && textOf(message);
}

/** Returns the tool results in the last message. */
export function lastResults(messages: readonly SamplingMessage[]): readonly ToolResultContent[] {
  const last = messages.at(-1);
  if (last === undefined) return [];
  return blocksOf(last).flatMap((block) => (block.type === "tool_result" ? [block] : []));
}

/** Returns the name of the tool that gave a result. */
export function toolOf(result: ToolResultContent, messages: readonly SamplingMessage[]): string | undefined {
  for (const message of messages.toReversed()) {
    for (const block of blocksOf(message)) {
      if (block.type === "tool_use" && block.id === result.toolUseId) return block.name;
    }
  }
  return undefined;
}

/** Converts a tool result to text. `toMedia` returns the text for an image or audio. */
export function resultText(
  { content, structuredContent }: ToolResultContent,
  toMedia: (block: ContentBlock & { type: "image" | "audio" }) => string = ({ type, mimeType }) =>
    `[${type}: ${mimeType}]`,
): string {
  const parts = content.map((block) => {
    switch (block.type) {
      case "text":
        return block.text;
      case "image":
      case "audio":
        return toMedia(block);
      case "resource_link":
        return `[resource: ${block.name} ${block.uri}]`;
      case "resource":
        return "text" in block.resource ? block.resource.text : `[resource: ${block.resource.uri}]`;
      default:
        return "[content of an unknown kind]";
    }
  });
  if (parts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return parts.join("\n");
}

/** Returns a function that makes ids for tool calls. It keeps a given id unless the conversation already has it. */
export function createCallIds(messages: readonly SamplingMessage[]): (given?: string) => string {
  const taken = new Set<string>();
  for (const message of messages) {
    for (const block of blocksOf(message)) if (block.type === "tool_use") taken.add(block.id);
  }
  let number = taken.size;
  return (given = "") => {
    let id = given;
    while (id === "" || taken.has(id)) {
      number += 1;
      id = `call_${number}`;
    }
    taken.add(id);
    return id;
  };
}
