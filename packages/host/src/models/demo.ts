import type { JsonObject, SamplingMessage, ToolResultContent } from "portolan";
import { isObject } from "portolan/internal";
import { assignments, exampleOf, type FilledArguments, fillArguments, ignoresValues } from "./demo-arguments.ts";
import { wordsOf } from "./demo-prompt.ts";
import { maxDemoPromptChars, maxDemoResultChars } from "./limits.ts";
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
      const { say = "", call, explainsTools = false } = planTurn(request);
      if (call === undefined) yield* streamAnswer(request, say, explainsTools);
      else yield* sayAndCall(request, say, call);
    },
  };
}

interface ToolCall {
  readonly tool: ModelTool;
  readonly input: JsonObject;
  /** The text for the user before the call. */
  readonly why?: string;
}

/** A text to say, a tool to call, or both. */
interface Plan {
  readonly say?: string;
  readonly call?: ToolCall;
  /** The text says what the demo can do, because no tool matches or the user has asked for it. */
  readonly explainsTools?: boolean;
}

async function* streamAnswer(request: ModelRequest, text: string, explainsTools: boolean): AsyncGenerator<ModelEvent> {
  for await (const event of streamText(id, request, text))
    yield event.type === "end" && explainsTools ? { ...event, explainsTools } : event;
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
    if (mode === "auto" && asksForHelp(task, tools)) return { say: helpText(tools), explainsTools: true };
    const texts = stepsIn(messages, begin, tools);
    const steps = texts.flatMap((text) => planStep(text, tools, mode === "required"));
    const step = steps[callsIn(since)];
    if (typeof step === "string") return { say: said === "" ? step : `${said}\n${step}` };
    if (step !== undefined) return { say: [said, step.why ?? ""].filter(Boolean).join("\n"), call: step };
  }
  if (said !== "") return { say: said };
  if (attached !== "") return { say: `Attached: ${cut(attached)}` };
  if (tools.length > 0) return { say: noMatch(task, tools), explainsTools: true };
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

/**
 * Returns the steps of a message. Arguments alone, such as `date=2027-03-01`, complete the step of the message before
 * that lacked them.
 */
function stepsIn(messages: readonly SamplingMessage[], begin: number, tools: readonly ModelTool[]): string[] {
  const { task } = taskIn(messages, begin);
  const steps = stepsOf(task);
  const answer = messages[begin - 1];
  const isOnlyArguments = task.trim() !== "" && task.replace(assignments, "").trim() === "";
  if (!isOnlyArguments || answer?.role !== "assistant" || !/^I would call /m.test(textOf(answer))) return steps;
  const before = messages.findLastIndex(
    (message, at) => at < begin && message.role === "user" && textOf(message) !== "",
  );
  if (before === -1) return steps;
  const earlier = stepsIn(messages, before, tools);
  const at = earlier.findIndex((step) => planStep(step, tools, false).some((plan) => typeof plan === "string"));
  return at === -1 ? steps : [`${earlier[at]?.trim()} ${task}`, ...earlier.slice(at + 1)];
}

/** Returns the calls of a step, a text about missing arguments, or nothing if no tool matches. */
function planStep(step: string, tools: readonly ModelTool[], mustCall: boolean): (ToolCall | string)[] {
  const named = namedTools(step, tools).map((tool) => ({ tool, ...fillArguments(step, tool, mustCall) }));
  const complete = named.filter(({ missing }) => missing.length === 0);
  if (complete.length > 0) return complete;
  const ranked = rankTools(step, tools).map((tool) => ({ tool, ...fillArguments(step, tool, mustCall) }));
  // A tool without arguments is always complete, which says little about how well it fits. To a question it does no harm.
  const fitting = ranked.find(
    ({ missing, input }, at) => missing.length === 0 && (at === 0 || isQuestion(step) || Object.keys(input).length > 0),
  );
  const best = named[0] ?? fitting ?? ranked[0];
  if (best?.missing.length === 0) return [best];
  if (best !== undefined) return [needs(step, best)];
  const [first] = tools;
  if (mustCall) return first ? [{ tool: first, input: fillArguments(step, first, true).input }] : [];
  return listResources(step, tools) ?? [];
}

/** Lists the resources of a server that a question names, where no tool answers it. */
function listResources(step: string, tools: readonly ModelTool[]): ToolCall[] | undefined {
  const tool = tools.find(({ name }) => name === resourceList);
  const servers = new Set(
    tools.flatMap(({ name }) => (name.includes("__") ? [name.slice(0, name.indexOf("__"))] : [])),
  );
  const server = [...servers].find((name) => new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`, "i").test(step));
  if (tool === undefined || server === undefined || !isQuestion(step)) return undefined;
  return [{ tool, input: { query: server }, why: `No tool of ${server} answers that. Its resources:` }];
}

/** Returns a text about missing arguments, with what the user can type instead. */
function needs(step: string, { tool, input, missing }: { readonly tool: ModelTool } & FilledArguments): string {
  const lacks = `I would call ${shownName(tool.name)}, but your sentence has no ${missing.join(", ")}.`;
  const line = step.trim();
  const isShort = line.length <= maxRepeatedChars && !line.includes("\n");
  const added = examplesFor(tool, missing, input);
  // Arguments alone complete the sentence before.
  return isShort ? `${lacks}\nType for example: ${line} ${added}` : `${lacks}\nAdd for example: ${added}`;
}

/** A longer sentence is not repeated. */
const maxRepeatedChars = 120;

/** Returns arguments as the user can type them. */
function examplesFor({ inputSchema: { properties } }: ModelTool, names: readonly string[], input: JsonObject): string {
  const known = { ...input };
  return names
    .map((name) => {
      const value = exampleOf(name, isObject(properties) && isObject(properties[name]) ? properties[name] : {}, known);
      known[name] = value;
      return `${name}=${value}`;
    })
    .join(" ");
}

/** Returns true for a greeting or a question about the demo itself, unless a tool has that name. */
function asksForHelp(task: string, tools: readonly ModelTool[]): boolean {
  if (task.length > maxHelpChars) return false;
  const asked = task
    .trim()
    .replace(/[\s!?.,]+$/, "")
    .toLowerCase();
  // The host ends a name that it had to change with a digest.
  const isNamed = tools.some(
    (tool) =>
      ownName(tool)
        .toLowerCase()
        .replace(/_x[a-z0-9]{10}$/, "") === asked,
  );
  return !isNamed && helpQuestions.test(asked);
}

/** A longer message asks for something else. */
const maxHelpChars = 60;
const helpQuestions =
  /^(?:(?:hello|hi|hey|good (?:morning|afternoon|evening)|help|help me|start)(?: there)?|what can (?:you|i|we) (?:do|ask)(?: here| for me| you)?|(?:who|what) are you|what is this|how does (?:this|it) work|how do i use (?:this|it))$/;

/** Says what the demo can do with these tools. */
function helpText(tools: readonly ModelTool[]): string {
  const own = tools.filter(({ name }) => !hostTools.includes(name));
  const servers = new Set(own.flatMap(({ name }) => (name.includes("__") ? [name.slice(0, name.indexOf("__"))] : [])));
  const from =
    servers.size === 0
      ? ""
      : ` of ${[...servers]
          .sort()
          .join(", ")
          .replace(/, ([^,]*)$/, " and $1")}`;
  const count = own.length === 1 ? "the tool" : `the ${own.length} tools`;
  const lines = suggestions(tools).map((line) => `- ${line}`);
  return [
    `The demo compares your words with the names and descriptions of ${count}${from}, and fills the arguments from your sentence. Try for example:`,
    ...lines,
  ].join("\n");
}

function noMatch(task: string, tools: readonly ModelTool[]): string {
  const [line = ""] = suggestions(tools);
  return `No tool matches ${quote(task)}. The demo only compares words with the names and descriptions of tools; try for example: ${line}`;
}

/** Sentences that the demo understands with the right tools, and a word of such a tool. */
const sentences: readonly (readonly [sentence: string, word: string])[] = [
  ["What's the weather in Lisbon tomorrow?", "weather"],
  ["List the files", "file"],
  ["Find a flight from Oslo to Lisbon tomorrow", "flight"],
  ["What time is it in Tokyo?", "time"],
  ["Show the last commits", "commit"],
];

/** Returns lines that the demo answers with a call of one of the tools. */
function suggestions(tools: readonly ModelTool[]): string[] {
  const found = sentences.flatMap(([sentence, word]) => {
    const plans = planStep(sentence, tools, false);
    const isAnswered = plans.some(
      (plan) => typeof plan !== "string" && wordsOf(`${plan.tool.name} ${plan.tool.description}`).includes(word),
    );
    return isAnswered ? [sentence] : [];
  });
  if (found.length > 0) return found;
  const tool = tools.find(({ name }) => !hostTools.includes(name)) ?? tools[0];
  if (tool === undefined) return [];
  const { input, missing } = fillArguments("", tool);
  return [`${shownName(tool.name)} ${examplesFor(tool, missing, input)}`.trim()];
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
  return name.replace("__", ".").replace(/_x[a-z0-9]{10}$/, "");
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
    ? `${text.slice(0, maxDemoResultChars)}… (the rest is not repeated here)`
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
    const whole = tools.filter(
      (tool) => (isDistinctive(ownName(tool)) || clause.includes(shownName(tool.name))) && indexIn(clause, tool) !== -1,
    );
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
  const whole = shownName(tool.name);
  // `files.read` names one tool, and `read` alone may be an ordinary word.
  const name = clause.includes(whole) ? whole : ownName(tool);
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
  // Names and values of arguments do not say what is to be done.
  const wanted = new Set(searchWords(prompt.replace(assignments, " ")));
  const assigned = [...prompt.matchAll(assignments)].map(([, name = ""]) => name);
  const documents = tools.map(countWords);
  const [, undone] = undoingVerbs.exec(prompt) ?? [];
  const [verb = ""] = wordsOf(undone ?? "");
  const average = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(documents.length, 1);
  const inDocuments = (word: string) => documents.filter(({ counts }) => counts.has(word)).length;
  const weights = new Map(
    [...wanted].map((word) => {
      const weight = inverseFrequency(inDocuments(word), documents.length);
      return [word, generalVerbs.has(word) ? weight * generalVerbWeight : weight];
    }),
  );
  const scored = tools.map((tool, index) => {
    const { counts, length } = documents[index] ?? { counts: new Map<string, number>(), length: 0 };
    let score = 0;
    for (const [word, weight] of weights) {
      const count = counts.get(word) ?? 0;
      const norm = saturation * (1 - lengthWeight + lengthWeight * (length / (average || 1)));
      score += (weight * count * (saturation + 1)) / (count + norm || 1);
    }
    const isExcluded =
      (verb !== "" && !counts.has(verb)) ||
      (hostTools.includes(tool.name) && !wanted.has("resource")) ||
      (isQuestion(prompt) && writesUnasked(tool, wanted));
    if (isExcluded) return { tool, score: 0 };
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
  [/\b(?:last|latest|newest|recent|previous)\b.*\bcommits?\b|\bcommit history\b/i, "log"],
  [/\b(?:create|make|new|save)\b.*\bfile\b/i, "write"],
  [/\b(?:appointment|dinner|lunch|meeting|reminder)\b/i, "create calendar event"],
  [/\bremember\b/i, "create entity observation"],
];

/** Tools of the host itself, for which the user has to ask. */
const resourceList = "find_resources";
const hostTools: readonly string[] = [resourceList, "read_resource", "read_more", "find_tools"];

/** Only a tool that has such a verb itself can do what it asks for; its noun alone would lead to the opposite. */
const undoingVerbs =
  /^\s*(?:please\s+|(?:can|could|would) you\s+)?(cancel|refund|rename|reschedule|restart|revert|undo)\b/i;

/** Verbs that many tools have: what they act on says more. */
const generalVerbs = new Set(wordsOf("add check create find get list look make return search"));
const generalVerbWeight = 0.4;

/** Returns true for a question that asks to know something, and not to do something. */
function isQuestion(prompt: string): boolean {
  return /^\s*(?:what|when|where|which|who|how|is|are|am|do|does|did|will|have|has)\b/i.test(prompt);
}

/** Returns the words of a prompt that can match a tool. */
function searchWords(whole: string): string[] {
  const prompt = whole.slice(0, maxDemoPromptChars);
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
