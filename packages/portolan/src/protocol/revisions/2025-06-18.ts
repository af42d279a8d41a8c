import type { JsonObject } from "../../jsonrpc/message.ts";
import { object, oneOf, optional, record, string } from "../../schema/shape.ts";
import type { RevisionChanges } from "../revision.ts";

/** Adds structured output, resource links, titles, `_meta` on objects and elicitation. Removes batches. */
export const structuredOutput: RevisionChanges = {
  version: "2025-06-18",
  batches: false,
  http: { primes: false, namesVersion: true },
  structured: "object",
  requests: {
    "completion/complete": {
      capability: "completions",
      params: object({
        ref: object({ type: oneOf("ref/prompt", "ref/resource"), name: optional(string), uri: optional(string) }),
        argument: object({ name: string, value: string }),
        context: optional(object({ arguments: optional(record(string)) })),
      }),
    },
  },
  asks: { "elicitation.form": true },
  adds: {
    implementation: ["title"],
    tool: ["title", "outputSchema", "_meta"],
    resource: ["title", "_meta"],
    prompt: ["title", "_meta"],
    promptArgument: ["title"],
    annotations: ["lastModified"],
    content: ["_meta"],
    resourceContents: ["_meta"],
    callToolResult: ["structuredContent"],
    completion: ["context"],
    promptReference: ["title"],
    root: ["_meta"],
  },
  content: { resource_link: linkAsText },
};

function linkAsText({ uri, name, title, description }: JsonObject): JsonObject {
  const label = [title ?? name, description].filter((part) => part !== undefined).join(": ");
  return { type: "text", text: label === "" ? String(uri) : `${label} <${String(uri)}>` };
}
