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

/**
 * Finds the tool for a role among the listed ones. A hint takes precedence over a well-known name. `allowed` are the
 * tools that the user named.
 */
export function findTool(
  role: Role,
  hints: Hints,
  tools: readonly unknown[],
  allowed: readonly string[] = [],
): ToolUse | undefined {
  const hint = hints[role];
  if (hint === false) return undefined;
  const named = (use: ToolUse) => tools.find((tool) => at(tool, "name") === use.name);
  if (hint) return named(hint) ? hint : undefined;
  return known[role].find((use) => {
    const tool = named(use);
    return takes(tool, use.arguments ?? {}) && (allowed.includes(use.name) || !isDestructive(tool));
  });
}

/** Returns the name of a tool that may be called with any arguments: of a test server, read-only, or named by the user. */
export function findHarmless(
  hints: Hints,
  tools: readonly unknown[],
  allowed: readonly string[] = [],
): string | undefined {
  const test = (Object.keys(known) as Role[]).flatMap((role) => findTool(role, hints, tools, allowed)?.name ?? []);
  const readOnly = tools.filter(isReadOnly).map((tool) => String(at(tool, "name")));
  const listed = new Set(tools.map((tool) => at(tool, "name")));
  return [...allowed, ...readOnly, ...test].find((name) => listed.has(name));
}

function isReadOnly(tool: unknown): boolean {
  return at(tool, "annotations", "readOnlyHint") === true && !isDestructive(tool);
}

function isDestructive(tool: unknown): boolean {
  return at(tool, "annotations", "destructiveHint") === true && at(tool, "annotations", "readOnlyHint") !== true;
}

/** True if a tool of this name is the known one: it has these arguments and requires no others. */
function takes(tool: unknown, given: JsonObject): boolean {
  if (!isObject(tool)) return false;
  const properties = at(tool, "inputSchema", "properties");
  const isTaken = Object.keys(given).every((name) => isObject(properties) && name in properties);
  return isTaken && listAt(tool, "inputSchema", "required").every((name) => String(name) in given);
}
