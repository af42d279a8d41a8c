import type { ContentBlock, SamplingContent } from "portolan";

/** What a message to or from a model says: all that is words, and the kinds of the rest. */
export function textOf(content: SamplingContent | readonly SamplingContent[]): string {
  return [content].flat().map(textOfBlock).join("\n");
}

/** By its type alone: a block may have other members, which say nothing to the model. */
function textOfBlock(block: SamplingContent | ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return `[uses ${block.name} with ${JSON.stringify(block.input)}]`;
    case "tool_result":
      return ["[result of a tool]", ...block.content.map(textOfBlock)].join("\n");
    case "resource":
      return "text" in block.resource ? `[resource]\n${block.resource.text}` : "[resource]";
    default:
      return `[${block.type}]`;
  }
}
