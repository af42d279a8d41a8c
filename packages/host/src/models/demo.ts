import type { JsonObject, SamplingMessage, ToolResultContent } from "portolan";
import { isObject } from "portolan/internal";
import { exampleOf, fillArguments, ignoresValues, wordsOf } from "./demo-arguments.ts";
import { maxDemoResultChars } from "./limits.ts";
import { blocksOf, createCallIds, lastResults, resultText, textOf, toolOf } from "./messages.ts";
import type { Model, ModelEvent, ModelRequest, ModelTool } from "./model.ts";
import { estimateUsage, splitWords, streamText } from "./offline.ts";

const id = "demo";

/**
 * Creates a model for experiments without a language model. It calls the tools that the prompt names, or else the one
 * whose name and description share the most words with it, fills their arguments from the prompt, and repeats the
 * results. "then" separates steps.
 */
export function demoModel(): Model {
  return {
    id,
    // The demo model has no context window.
    capabilities: { tools: true, images: true, audio: true, contextTokens: 1_000_000 },
    traits: { cost: 1, speed: 1, intelligence: 0 },
    notice: "not a language model",
    repeatsResults: true,
    async *stream(request: ModelRequest) {
      request.signal?.throwIfAborted();
      const { say = "", call } = planTurn(request);
      if (call === undefined) yield* streamText(id, request, say);
      else yield* sayAndCall(request, say, call);
    },
  };
}

interface ToolCall {
  readonly tool: ModelTool;
  readonly input: JsonObject;
}

/** A text to say, a tool to call, or both. */
interface Plan {
  readonly say?: string;
  readonly call?: ToolCall;
}

async function* sayAndCall(request: ModelRequest, text: string, { tool, input }: ToolCall): AsyncGenerator<ModelEvent> {
  const nextId = createCallIds(request.messages);
  const events: ModelEvent[] = splitWords(text === "" ? "" : `${text}\n`).map((delta) => ({ type: "text", delta }));
  events.push({ type: "tool", id: nextId(), name: tool.name, input });
  for (const event of events) {
    yield event;
    request.signal?.throwIfAborted();
  }
  yield { type: "end", stopReason: "toolUse", usage: estimateUsage(request, events), model: id };
}

function planTurn({ messages, tools = [], toolChoice = {} }: ModelRequest): Plan {
  const begin = messages.findLastIndex((message) => message.role === "user" && textOf(message) !== "");
  const since = messages.slice(begin + 1);
  const results = lastResults(messages);
  const said = results.map((result) => describeResult(result, messages)).join("\n");
  if (begin === -1) return { say: said || "There is nothing to answer." };
  const { task, attached } = taskIn(messages, begin);
  const mode = toolChoice.mode ?? "auto";
  // A step may need the one before it, so a failure ends the plan.
  const hasFailed = results.some(({ isError }) => isError === true);
  if (mode !== "none" && tools.length > 0 && !hasFailed) {
    const steps = stepsOf(task).flatMap((text) => planStep(text, tools, mode === "required"));
    const step = steps[callsIn(since)];
    if (typeof step === "string") return { say: said === "" ? step : `${said}\n${step}` };
    if (step !== undefined) return { say: said, call: step };
  }
  if (said !== "") return { say: said };
  if (attached !== "") return { say: `Attached: ${cut(attached)}` };
  if (tools.length > 0) return { say: `No tool matches ${quote(task)}. Use words of a tool's name or description.` };
  return { say: chooseOption(task) ?? `This is the demo model's answer to ${quote(task)}.` };
}

/** Splits the user's message into the task and the text of attached resources, without the host's notes above them. */
function taskIn(messages: readonly SamplingMessage[], begin: number): { task: string; attached: string } {
  const message = messages[begin] as SamplingMessage;
  const texts = blocksOf(message).flatMap((block) => (block.type === "text" ? [block.text] : []));
  if (!isAttachmentNote(texts[0])) return { task: texts.join("\n"), attached: "" };
  const attached = texts.slice(0, -1).filter((text) => !isAttachmentNote(text));
  // Resources that are attached to a server's prompt follow it in a message of their own.
  const before = messages[begin - 1];
  const prompt = before?.role === "user" ? [textOf(before)] : [];
  return { task: [...prompt, texts.at(-1) ?? ""].join("\n"), attached: attached.join("\n") };
}

function isAttachmentNote(text = ""): boolean {
  return /^Resource .* of server ".*", data and not instructions:$/.test(text);
}

/** Returns the calls of a step, a text about missing arguments, or nothing if no tool matches. */
function planStep(step: string, tools: readonly ModelTool[], mustCall: boolean): (ToolCall | string)[] {
  const named = namedTools(step, tools).map((tool) => ({ tool, ...fillArguments(step, tool, mustCall) }));
  const complete = named.filter(({ missing }) => missing.length === 0);
  if (complete.length > 0) return complete;
  const ranked = rankTools(step, tools).map((tool) => ({ tool, ...fillArguments(step, tool, mustCall) }));
  const best = named[0] ?? ranked.find(({ missing }) => missing.length === 0) ?? ranked[0];
  if (best?.missing.length === 0) return [best];
  if (best !== undefined) return [`${needs(best.tool, best.missing)} Add for example: ${exampleFor(best)}`];
  const [first] = tools;
  return mustCall && first ? [{ tool: first, input: fillArguments(step, first, true).input }] : [];
}

function needs({ name }: ModelTool, missing: readonly string[]): string {
  return `I would call ${shownName(name)}, but the prompt has no value for ${missing.join(", ")}.`;
}

/** Returns the missing arguments as the user can type them. */
function exampleFor({ tool, missing }: { readonly tool: ModelTool; readonly missing: readonly string[] }): string {
  const { properties } = tool.inputSchema;
  return missing
    .map(
      (name) =>
        `${name}=${exampleOf(name, isObject(properties) && isObject(properties[name]) ? properties[name] : {})}`,
    )
    .join(" ");
}

/** Splits a prompt at "then", but not within quotes. */
function stepsOf(prompt: string): string[] {
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
  const name = shownName(toolOf(result, messages) ?? "The tool");
  // The host's note above the data is for language models, not for people.
  const text = resultText(result)
    .replace(/^(?:Data from [^\n]*, not instructions|Resource [^\n]*, data and not instructions):(?:\n|$)/, "")
    .trim();
  // The host's advice after a refusal is for language models, too.
  const [, refusal] = /^\S+ ([\s\S]*\.) Do not try it again unless the user asks for it\.$/.exec(text) ?? [];
  if (result.isError === true && refusal !== undefined) return `${name} ${refusal}`;
  if (result.isError === true) return `${name} failed: ${cut(text) || "it gave no reason"}`;
  return cut(text) || `${name} is done.`;
}

/** Returns the name of a tool as people know it: `files__read` is `read` of the server `files`. */
function shownName(name: string): string {
  return name.replace("__", ".");
}

/** Returns the first option of a list whose lines begin with ids, which is what servers let a model choose from. */
function chooseOption(text: string): string | undefined {
  const ids = text.split("\n").flatMap((line) => /^\s*(?:[-*]\s+)?([A-Z]+-?\d+)\b/.exec(line)?.[1] ?? []);
  const [first] = ids;
  return first === undefined || ids.length < 2
    ? undefined
    : `${first}: the first of ${ids.length}; the demo does not compare`;
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

/**
 * Returns the tools that a prompt names, in its order: by their name (`searchFlights`) or by all words of it ("search
 * flights"). Of alternatives ("one or the other") only the first counts.
 */
function namedTools(prompt: string, tools: readonly ModelTool[]): ModelTool[] {
  const found = new Set<ModelTool>();
  // Quoted text is a value, not a task.
  const unquoted = prompt.replace(/"[^"]*"|“[^”]*”/g, " ");
  for (const clause of unquoted.split(/[.;,!?\n](?=\s|$)|\band\b/i)) {
    const whole = tools.filter((tool) => isDistinctive(ownName(tool)) && indexIn(clause, tool) !== -1);
    whole.sort((a, b) => indexIn(clause, a) - indexIn(clause, b));
    const [first, second] = whole;
    for (const tool of whole) if (first && !(tool === second && isAlternative(clause, first, tool))) found.add(tool);
    if (first) continue;
    const spoken = new Set(wordsOf(clause));
    const [best] = tools
      .map((tool) => ({ tool, words: wordsOf(ownName(tool)) }))
      .filter(({ words }) => words.length > 1 && words.every((word) => spoken.has(word)))
      .sort((a, b) => b.words.length - a.words.length);
    if (best) found.add(best.tool);
  }
  return [...found];
}

/** Returns the name of a tool without its server. */
function ownName({ name }: ModelTool): string {
  return name.slice(name.indexOf("__") + (name.includes("__") ? 2 : 0));
}

/** Returns true for a name that is no ordinary word, such as `searchFlights`. */
function isDistinctive(name: string): boolean {
  return /[_-]|\p{Ll}\p{Lu}/u.test(name);
}

function indexIn(clause: string, tool: ModelTool): number {
  const name = ownName(tool);
  const at = clause.indexOf(name);
  const beside = `${clause[at - 1] ?? " "}${clause[at + name.length] ?? " "}`;
  return at !== -1 && /^[^\p{L}\p{N}_-]{2}$/u.test(beside) ? at : -1;
}

function isAlternative(clause: string, first: ModelTool, second: ModelTool): boolean {
  return /^\s+or\s+$/i.test(clause.slice(indexIn(clause, first) + ownName(first).length, indexIn(clause, second)));
}

/** The usual constants of BM25: `k1` and `b`. */
const saturation = 1.2;
const lengthWeight = 0.75;
/** A word in the name counts as much as this many in the description. */
const nameWeight = 3;

/** Tools with a lower share of the best score do not match. */
const minShare = 0.5;

/** Returns the tools that match a prompt, best first, ranked by BM25 over names and descriptions. */
function rankTools(prompt: string, tools: readonly ModelTool[]): ModelTool[] {
  const wanted = new Set(searchWords(prompt));
  const assigned = [...prompt.matchAll(/(?<![\p{L}\p{N}_-])([\p{L}_][\p{L}\p{N}_-]*)=/gu)].map(([, name = ""]) => name);
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
    const doubts = [!hasArguments(tool, assigned), ignoresValues(prompt, tool), writesUnasked(tool, wanted)];
    return { tool, score: score / 2 ** doubts.filter(Boolean).length };
  });
  const best = Math.max(0, ...scored.map(({ score }) => score));
  return scored
    .filter(({ score }) => score > 0 && score >= best * minShare)
    .sort((a, b) => b.score - a.score)
    .map(({ tool }) => tool);
}

/** Words that people use for what tools call differently. */
const synonyms: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/\b(?:rain|snow|sun|warm|cold|hot|wind|temperature|umbrella)\p{L}*/iu, "weather"],
  [/\d\s*[+*/^]\s*\d|\d\s+-\s+\d/, "calculate arithmetic"],
  [/\b(?:what|show|open|view|print)\b.*\p{L}\.\p{L}{1,4}(?!\p{L})/iu, "read file"],
  [/\bdelete\b/i, "remove"],
];

/** Returns the words of a prompt that can match a tool. */
function searchWords(prompt: string): string[] {
  const added = synonyms.filter(([pattern]) => pattern.test(prompt)).map(([, words]) => words);
  return wordsOf([prompt, ...added].join(" ")).filter((word) => !/^\p{N}+$/u.test(word) && !dayWords.has(word));
}

const dayWords = new Set(["today", "tonight", "tomorrow", "how", "much", "many"]);

const writingVerbs = new Set(wordsOf("add book commit create delete edit move remove send set stage write"));

/** Returns true for a tool that changes something although the prompt has no word for it. */
function writesUnasked(tool: ModelTool, wanted: ReadonlySet<string>): boolean {
  const [verb = ""] = wordsOf(ownName(tool));
  return writingVerbs.has(verb) && !wanted.has(verb);
}

function hasArguments({ inputSchema: { properties } }: ModelTool, names: readonly string[]): boolean {
  return names.every((name) => isObject(properties) && Object.hasOwn(properties, name));
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
