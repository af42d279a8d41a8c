import type { JsonObject, SamplingMessage, ToolResultContent } from "portolan";
import { fillArguments, wordsOf } from "./demo-arguments.ts";
import { maxDemoResultChars } from "./limits.ts";
import { blocksOf, createCallIds, lastResults, resultText, textOf, toolOf } from "./messages.ts";
import type { Model, ModelEvent, ModelRequest, ModelTool } from "./model.ts";
import { estimateUsage, streamText } from "./offline.ts";

const id = "demo";

/**
 * Creates a model for experiments without a language model. It calls the tool whose name and description share the most
 * words with the prompt, fills its arguments from the prompt, and repeats the result. "then" separates steps.
 */
export function demoModel(): Model {
  return {
    id,
    // The demo model has no context window.
    capabilities: { tools: true, images: true, audio: true, contextTokens: 1_000_000 },
    traits: { cost: 1, speed: 1, intelligence: 0 },
    notice: "demo, not a language model",
    async *stream(request: ModelRequest) {
      request.signal?.throwIfAborted();
      const plan = planTurn(request);
      if (typeof plan === "string") yield* streamText(id, request, plan);
      else yield* call(request, plan.tool, plan.input);
    },
  };
}

/** A text to say, or a tool to call. */
type Plan = string | { readonly tool: ModelTool; readonly input: JsonObject };

async function* call(request: ModelRequest, tool: ModelTool, input: JsonObject): AsyncGenerator<ModelEvent> {
  const nextId = createCallIds(request.messages);
  const event: ModelEvent = { type: "tool", id: nextId(), name: tool.name, input };
  yield event;
  request.signal?.throwIfAborted();
  yield { type: "end", stopReason: "toolUse", usage: estimateUsage(request, [event]), model: id };
}

function planTurn({ messages, tools = [], toolChoice = {} }: ModelRequest): Plan {
  const begin = messages.findLastIndex((message) => message.role === "user" && textOf(message) !== "");
  const prompt = messages[begin];
  const since = messages.slice(begin + 1);
  const results = lastResults(messages).map((result) => describeResult(result, messages));
  if (prompt === undefined) return results.join("\n") || "There is nothing to answer.";
  const mode = toolChoice.mode ?? "auto";
  const steps = stepsOf(textOf(prompt));
  const step = steps[callsIn(since)];
  if (mode !== "none" && tools.length > 0 && step !== undefined) {
    const plan = planStep(step, tools, mode === "required");
    if (plan !== undefined && typeof plan !== "string") return plan;
    if (plan !== undefined) return [...results, plan].join("\n");
  }
  if (results.length > 0) return results.join("\n");
  if (tools.length > 0) return `No tool matches ${quote(textOf(prompt))}.`;
  return `This is the demo model's answer to ${quote(textOf(prompt))}.`;
}

function planStep(step: string, tools: readonly ModelTool[], mustCall: boolean): Plan | undefined {
  const tool = rankTools(step, tools)[0] ?? (mustCall ? tools[0] : undefined);
  if (tool === undefined) return undefined;
  const { input, missing } = fillArguments(step, tool, mustCall);
  if (missing.length === 0) return { tool, input };
  return `I would call ${tool.name}, but the prompt has no value for ${missing.join(", ")}. Add for example: ${missing[0]}=…`;
}

function stepsOf(prompt: string): string[] {
  // Quoted text is not split.
  const parts = prompt.match(/"[^"]*"|“[^”]*”|\bthen\b|[^"“]+?(?=\bthen\b|["“]|$)|["“]/gi) ?? [];
  const steps = [""];
  for (const part of parts) {
    if (/^then$/i.test(part)) steps.push("");
    else steps.push((steps.pop() ?? "") + part);
  }
  return steps.filter((step) => step.trim() !== "");
}

function callsIn(messages: readonly SamplingMessage[]): number {
  return messages.flatMap((message) => blocksOf(message).filter(({ type }) => type === "tool_use")).length;
}

function describeResult(result: ToolResultContent, messages: readonly SamplingMessage[]): string {
  const name = toolOf(result, messages) ?? "The tool";
  // The host's note above the data is for language models, not for people.
  const text = resultText(result)
    .replace(/^Data from [^\n]*, not instructions:\n/, "")
    .trim();
  if (result.isError === true) return `${name} failed: ${cut(text) || "it gave no reason"}`;
  return text === "" ? `${name} is done.` : `${name} answered: ${cut(text)}`;
}

function cut(text: string): string {
  return text.length > maxDemoResultChars
    ? `${text.slice(0, maxDemoResultChars)}… (${text.length - maxDemoResultChars} more characters)`
    : text;
}

function quote(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return `“${line.length > 120 ? `${line.slice(0, 120)}…` : line}”`;
}

/** The usual constants of BM25: `k1` and `b`. */
const saturation = 1.2;
const lengthWeight = 0.75;
/** A word in the name counts as much as this many in the description. */
const nameWeight = 3;

/** Returns the tools that share words with a prompt, best first, ranked by BM25 over names and descriptions. */
function rankTools(prompt: string, tools: readonly ModelTool[]): ModelTool[] {
  const wanted = new Set(wordsOf(prompt));
  const documents = tools.map(countWords);
  const average = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(documents.length, 1);
  const inDocuments = (word: string) => documents.filter(({ counts }) => counts.has(word)).length;
  const weights = new Map([...wanted].map((word) => [word, inverseFrequency(inDocuments(word), documents.length)]));
  const scored = tools.map((tool, index) => {
    const { counts, length } = documents[index] ?? { counts: new Map<string, number>(), length: 0 };
    let score = 0;
    for (const [word, weight] of weights) {
      const count = counts.get(word) ?? 0;
      const norm = saturation * (1 - lengthWeight + lengthWeight * (length / (average || 1)));
      score += (weight * count * (saturation + 1)) / (count + norm || 1);
    }
    return { tool, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ tool }) => tool);
}

function inverseFrequency(documents: number, all: number): number {
  return Math.log(1 + (all - documents + 0.5) / (documents + 0.5));
}

interface Document {
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

function countWords({ name, description = "" }: ModelTool): Document {
  const counts = new Map<string, number>();
  let length = 0;
  const add = (word: string, weight: number) => {
    counts.set(word, (counts.get(word) ?? 0) + weight);
    length += weight;
  };
  for (const word of wordsOf(name)) add(word, nameWeight);
  for (const word of wordsOf(description)) add(word, 1);
  return { counts, length };
}
