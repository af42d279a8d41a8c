import { at, isObject, type JsonObject, listAt } from "./json.ts";
import type { Question } from "./peer.ts";

/** The roots of the test client. */
export const roots: readonly JsonObject[] = [
  { uri: "file:///portolan/one", name: "one" },
  { uri: "file:///portolan/two", name: "two" },
];

/** Accepts every question with a valid answer. */
export function acceptEverything({ method, params }: Question): JsonObject {
  if (method === "roots/list") return { roots };
  if (method === "sampling/createMessage") return answerAsModel(params);
  if (method !== "elicitation/create") return {};
  if (at(params, "mode") === "url") return { action: "accept" };
  return { action: "accept", content: fillIn(at(params, "requestedSchema")) };
}

/** Answers as a model: uses the first tool once, then returns text. */
function answerAsModel(params: unknown): JsonObject {
  const tool = listAt(params, "tools")[0];
  const used = JSON.stringify(listAt(params, "messages")).includes('"tool_use"');
  const from = { role: "assistant", model: "portolan-check" };
  if (!isObject(tool) || used) return { ...from, content: { type: "text", text: "Five" }, stopReason: "endTurn" };
  const use = { type: "tool_use", id: "use-1", name: tool["name"], input: { a: 2, b: 3 } };
  return { ...from, content: [use], stopReason: "toolUse" };
}

/** Returns content that matches the schema of a form. */
function fillIn(schema: unknown): JsonObject {
  const fields = at(schema, "properties");
  if (!isObject(fields)) return {};
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toValue(field)]));
}

const byFormat: { readonly [format: string]: string } = {
  email: "ada@example.com",
  uri: "https://example.com",
  date: "2020-01-01",
  "date-time": "2020-01-01T00:00:00Z",
};

function toValue(field: unknown): unknown {
  const set = at(field, "default");
  if (set !== undefined) return set;
  const choices = [...listAt(field, "enum"), ...listAt(field, "oneOf").map((one) => at(one, "const"))];
  if (choices.length > 0) return choices[0];
  const type = at(field, "type");
  if (type === "boolean") return true;
  if (type === "number" || type === "integer") return at(field, "minimum") ?? 1;
  if (type !== "array") return byFormat[String(at(field, "format"))] ?? "Ada Lovelace";
  const items = at(field, "items");
  return [...listAt(items, "enum"), ...listAt(items, "anyOf").map((one) => at(one, "const"))].slice(0, 1);
}
