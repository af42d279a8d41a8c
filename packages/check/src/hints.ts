import { at, isObject, type JsonObject, listAt } from "./json.ts";
import type { ToolUse } from "./peer.ts";

/** The purpose that a scenario needs a tool for. */
export type Role =
  | "echo"
  | "structured"
  | "progress"
  | "slow"
  | "log"
  | "media"
  | "update"
  | "grow"
  | "elicit"
  | "visit"
  | "sample"
  | "sampleWithTools"
  | "roots";

/** The tools of a server for each role; `false` if it has none, whatever its tools are called. */
export type Hints = { readonly [R in Role]?: ToolUse | false };

const text = "grüße 🌊";
const label = { label: "portolan-check" };

/** Tools with well-known names, tried in this order. */
const known: { readonly [R in Role]: readonly ToolUse[] } = {
  echo: [
    { name: "echo", arguments: { message: text } },
    { name: "echo", arguments: { text } },
    { name: "text", arguments: { text } },
  ],
  structured: [
    { name: "add", arguments: { a: 2, b: 3 } },
    { name: "structured", arguments: { city: "Paris" } },
    { name: "get-structured-content", arguments: { location: "Chicago" } },
  ],
  progress: [
    { name: "progress", arguments: { steps: 3 } },
    { name: "trigger-long-running-operation", arguments: { duration: 0.3, steps: 3 } },
    { name: "test_tool_with_progress" },
  ],
  slow: [
    { name: "wait", arguments: { ms: 120_000 } },
    { name: "slow", arguments: label },
    { name: "trigger-long-running-operation", arguments: { duration: 120, steps: 60 } },
  ],
  log: [{ name: "logs" }, { name: "log", arguments: label }, { name: "test_tool_with_logging" }],
  media: [{ name: "mixed" }, { name: "get-resource-links", arguments: { count: 1 } }, { name: "test_audio_content" }],
  update: [
    { name: "change", uri: "note://a" },
    { name: "tick", uri: "counter://ticks" },
  ],
  grow: [{ name: "change" }, { name: "grow" }, { name: "test_trigger_tool_change" }],
  elicit: [
    { name: "ask_name" },
    { name: "ask-form" },
    { name: "ask" },
    { name: "trigger-elicitation-request" },
    { name: "test_elicitation", arguments: { message: "Who are you?" } },
  ],
  visit: [
    { name: "ask_visit" },
    { name: "ask-url", arguments: label },
    { name: "visit" },
    { name: "trigger-url-elicitation", arguments: { url: "https://example.com/consent" } },
  ],
  sample: [
    { name: "ask_model" },
    { name: "sample", arguments: { text: "the sea" } },
    { name: "trigger-sampling-request", arguments: { prompt: "the sea" } },
    { name: "test_sampling", arguments: { prompt: "the sea" } },
  ],
  sampleWithTools: [{ name: "ask_model_with_tools" }, { name: "sample-with-tools" }],
  roots: [{ name: "ask_roots" }, { name: "ask-roots" }, { name: "roots" }, { name: "get-roots-list" }],
};

/** Finds the tool for a role among the listed ones. A hint takes precedence over a well-known name. */
export function findTool(role: Role, hints: Hints, tools: readonly unknown[]): ToolUse | undefined {
  const hint = hints[role];
  if (hint === false) return undefined;
  const named = (use: ToolUse) => tools.find((tool) => at(tool, "name") === use.name);
  if (hint) return named(hint) ? hint : undefined;
  return known[role].find((use) => takes(named(use), use.arguments ?? {}));
}

/** True if a tool of this name is the known one: it has these arguments and requires no others. */
function takes(tool: unknown, given: JsonObject): boolean {
  if (!isObject(tool)) return false;
  const properties = at(tool, "inputSchema", "properties");
  const isTaken = Object.keys(given).every((name) => isObject(properties) && name in properties);
  return isTaken && listAt(tool, "inputSchema", "required").every((name) => String(name) in given);
}
