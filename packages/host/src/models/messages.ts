import type { ContentBlock, SamplingContent, SamplingMessage, ToolResultContent } from "portolan";

/** The content of a message as a list. */
export function blocksOf({ content }: SamplingMessage): readonly SamplingContent[] {
  return Array.isArray(content) ? content : [content];
}

/** All text of a message. */
export function textOf(message: SamplingMessage): string {
  return blocksOf(message)
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n");
}

/** What the user last said in words; undefined when nothing was. */
export function lastUserText(messages: readonly SamplingMessage[]): string | undefined {
  const message = messages.findLast((one) => one.role === "user" && textOf(one) !== "");
  return message && textOf(message);
}

/** The results that the last message brings, in their order. */
export function lastResults(messages: readonly SamplingMessage[]): readonly ToolResultContent[] {
  const last = messages.at(-1);
  if (last === undefined) return [];
  return blocksOf(last).flatMap((block) => (block.type === "tool_result" ? [block] : []));
}

/** The name of the tool that a result is from. */
export function toolOf(result: ToolResultContent, messages: readonly SamplingMessage[]): string | undefined {
  for (const message of messages.toReversed()) {
    for (const block of blocksOf(message)) {
      if (block.type === "tool_use" && block.id === result.toolUseId) return block.name;
    }
  }
  return undefined;
}

/** A result in words, for models that read nothing else; `toMedia` says what stands for an image or a sound. */
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

/** Ids for calls that came without one, none of which the conversation has. */
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
