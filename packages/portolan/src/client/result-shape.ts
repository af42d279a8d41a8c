import { array, type Check, integer, object, optional, record, string } from "../schema/shape.ts";

const page = (member: string, item: Check): Check => object({ [member]: array(item), nextCursor: optional(string) });
const named = object({ name: string });
const typed = object({ type: string });

/** The way of every call: written by hand because it is taken so often. */
function toolResult(value: unknown, path: string): string | undefined {
  const content = (value as { content?: unknown } | null | undefined)?.content;
  if (!Array.isArray(content)) return anyContent(value, path);
  for (const block of content) if (typeof block?.type !== "string") return anyContent(value, path);
  return undefined;
}

const anyContent = object({ content: array(typed) });

/** What a result must have for its reader not to fall over; everything else in it is passed on as it came. */
const shapes: ReadonlyMap<string, Check> = new Map([
  ["tools/call", toolResult],
  ["tools/list", page("tools", object({ name: string, inputSchema: record() }))],
  ["resources/list", page("resources", object({ uri: string }))],
  ["resources/templates/list", page("resourceTemplates", object({ uriTemplate: string }))],
  ["resources/read", object({ contents: array(object({ uri: string })) })],
  ["prompts/list", page("prompts", named)],
  ["prompts/get", object({ messages: array(object({ role: string })) })],
  ["completion/complete", object({ completion: object({ values: array(string), total: optional(integer) }) })],
]);

/** What is wrong with a result; undefined when it can be used. */
export function problemOfResult(method: string, result: unknown): string | undefined {
  return shapes.get(method)?.(result, "result");
}
