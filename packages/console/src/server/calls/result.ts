import type { CallToolResult, ContentBlock } from "portolan";
import type { CallResultHead } from "../../api.ts";
import { headPartChars, headParts, wholeResultChars } from "../limits.ts";

/** Facts about a result, beside the result itself. */
export type ResultFacts = Pick<CallResultHead, "modelText" | "modelTokens" | "schemaProblems" | "app">;

/** Returns the start of a result; `text` is all of it as JSON. */
export function headOf(result: CallToolResult, text: string, facts: ResultFacts): CallResultHead {
  const isWhole = text.length <= wholeResultChars;
  return {
    isError: result.isError === true,
    chars: text.length,
    result: isWhole ? result : withoutLargeParts(result),
    isWhole,
    ...facts,
    modelText: facts.modelText.slice(0, wholeResultChars),
  };
}

/** Returns a result whose long texts are cut, and whose data and further blocks are left out. */
function withoutLargeParts({ content, isError }: CallToolResult): CallToolResult {
  const blocks = content.slice(0, headParts).map(withoutLargeData);
  return { content: blocks, ...(isError !== undefined && { isError }) };
}

function withoutLargeData(block: ContentBlock): ContentBlock {
  if (block.type === "text") return { ...block, text: cut(block.text) };
  if (block.type === "image" || block.type === "audio") {
    return block.data.length <= headPartChars ? block : { ...block, data: "" };
  }
  if (block.type === "resource_link" || JSON.stringify(block).length <= headPartChars) return block;
  const { uri, mimeType } = block.resource;
  const text = "text" in block.resource && typeof block.resource.text === "string" ? cut(block.resource.text) : "";
  return { type: "resource", resource: { uri, ...(mimeType !== undefined && { mimeType }), text } };
}

/** Cuts a text, and no character of two code units in the middle. */
function cut(text: string): string {
  return text.length <= headPartChars ? text : text.slice(0, headPartChars).replace(/[\uD800-\uDBFF]$/, "");
}
