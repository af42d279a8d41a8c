import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  ContentBlock,
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
} from "portolan";
import type {
  ModelChoice,
  SamplingQuestion,
  SamplingRequestQuestion,
  SamplingResponseQuestion,
  SamplingVerdict,
} from "portolan-host";
import { nearest } from "../arguments/nearest.ts";
import type { CommandContext } from "../command.ts";
import { never } from "./consent.ts";

type Step = "allow" | "session" | "view" | "edit" | "model" | "deny" | "never";

/** Asks whether a server may send a prompt to the model, or get its answer. Both can be edited. */
export function askSampling(context: CommandContext, question: SamplingQuestion): Promise<SamplingVerdict> {
  return question.stage === "request" ? reviewRequest(context, question) : reviewResponse(context, question);
}

async function reviewRequest(context: CommandContext, question: SamplingRequestQuestion): Promise<SamplingVerdict> {
  const { screen, terminal } = context;
  const { server, inputTokens, left, alternatives } = question;
  let { params, model } = question;
  let isEdited = false;
  terminal.heading("", server, " wants to ask your model (sampling)");
  const named = ({ id, notice }: ModelChoice) => screen.safe(notice === undefined ? id : `${id} (${notice})`);
  const show = () => {
    // An edit changes what goes in, and the host counts it only when it is sent.
    const sent = isEdited ? "your edit" : `about ${inputTokens} tokens`;
    const cost = `${sent} in, at most ${params.maxTokens} out`;
    const rest = `${left.tokens} tokens and ${left.requests} requests left`;
    terminal.say(`  ${screen.style("dim", `${named(model)}: ${cost}; ${rest}`)}`);
    showRequest(context, params);
  };
  show();
  for (;;) {
    const step = await terminal.choose<Step>([
      { key: "y", word: "yes", label: "approve", value: "allow" },
      { key: "s", word: "session", label: "this session", value: "session" },
      { key: "v", word: "view", label: "view all", value: "view" },
      { key: "e", label: "edit", value: "edit" },
      ...(alternatives.length > 0
        ? [{ key: "m", word: "model", label: "another model", value: "model" } as const]
        : []),
      { key: "n", word: "no", label: "deny", value: "deny" },
      { key: "N", word: "never", label: never, value: "never" },
    ]);
    if (step === "view") viewRequest(context, params);
    else if (step === "edit") {
      const problemOf = (edited: Members) => problemOfRequest(edited, question.params, left.tokens);
      const edited = await edit(context, params, problemOf, () => editLastMessage(context, params));
      if (edited) {
        params = edited;
        isEdited = true;
        show();
      }
    } else if (step === "model") {
      const others = [question.model, ...alternatives];
      model = others[(others.findIndex(({ id }) => id === model.id) + 1) % others.length] ?? model;
      terminal.say(`  ${screen.style("dim", "model")} ${named(model)}`);
    } else {
      const changed = { ...(isEdited && { params }), ...(model !== question.model && { model: model.id }) };
      return { ...verdictOf(step), ...changed };
    }
  }
}

async function reviewResponse(context: CommandContext, question: SamplingResponseQuestion): Promise<SamplingVerdict> {
  const { screen, terminal } = context;
  const { server } = question;
  let { result } = question;
  let isEdited = false;
  terminal.heading("", server, ` will get this answer from ${screen.safe(result.model)}`);
  terminal.quote(textOf(result.content), 12);
  for (;;) {
    const step = await terminal.choose<Step>([
      { key: "y", word: "yes", label: "send it", value: "allow" },
      { key: "v", word: "view", label: "view all", value: "view" },
      { key: "e", label: "edit", value: "edit" },
      { key: "n", word: "no", label: "withhold it", value: "deny" },
    ]);
    if (step === "view") viewAnswer(context, result);
    else if (step === "edit") {
      const problemOf = (edited: Members) => problemOfAnswer(edited, question.result);
      const edited = await edit(context, result, problemOf, () => editAnswer(context, result));
      if (edited) {
        result = edited;
        isEdited = true;
        terminal.quote(textOf(result.content), 12);
      }
    } else return { ...verdictOf(step), ...(isEdited && { result }) };
  }
}

function verdictOf(step: Step): SamplingVerdict {
  if (step === "session") return { allow: true, for: "session" };
  if (step === "never") return { allow: false, for: "always" };
  return { allow: step === "allow" };
}

function showRequest(
  { screen, terminal }: CommandContext,
  { systemPrompt, messages, tools }: CreateMessageParams,
  isWhole = false,
): void {
  const linesOf = (count: number) => (isWhole ? Number.POSITIVE_INFINITY : count);
  if (systemPrompt !== undefined) {
    terminal.say(`  ${screen.style("dim", "system")}`);
    terminal.quote(systemPrompt, linesOf(6));
  }
  for (const { role, content } of messages) {
    terminal.say(`  ${screen.style("dim", `${screen.safe(role)}`)}`);
    terminal.quote(textOf(content), linesOf(12));
  }
  if (tools && tools.length > 0) {
    terminal.say(`  ${screen.style("dim", "tools")} ${screen.safe(tools.map(({ name }) => name).join(", "))}`);
  }
}

/** Shows everything of a request: its texts as text, and as JSON what they do not tell. */
function viewRequest(context: CommandContext, params: CreateMessageParams): void {
  showRequest(context, params, true);
  const { systemPrompt: _, messages, ...rest } = params;
  const isText = messages.every(({ content }) => isOnlyText(content));
  viewRest(context, isText ? rest : { messages, ...rest });
}

function viewAnswer(context: CommandContext, result: CreateMessageResult): void {
  context.terminal.quote(textOf(result.content));
  const { content, ...rest } = result;
  viewRest(context, isOnlyText(content) ? rest : result);
}

function viewRest({ screen, terminal }: CommandContext, rest: object): void {
  if (Object.keys(rest).length > 0) terminal.bar(screen.json(rest));
}

/** True for content that its text shows completely. */
function isOnlyText(content: SamplingContent | readonly SamplingContent[]): boolean {
  return [content].flat().every((block) => block.type === "text" && Object.keys(block).length === 2);
}

/**
 * Lets the person edit a value as JSON in an editor, or its text on a line. An edit that is not usable is kept, and the
 * editor can be opened on it again. Returns undefined if the person discards it.
 */
async function edit<T extends object>(
  context: CommandContext,
  value: T,
  problemOf: (edited: Members) => string | undefined,
  byLine: () => Promise<T>,
): Promise<T | undefined> {
  const { terminal, screen } = context;
  const editor = editorOf(context);
  if (editor === undefined) return byLine();
  const [program = ""] = editor;
  terminal.say(`  ${screen.style("dim", `opens ${screen.safe(program)}; save and close the file to come back`)}`);
  let text = `${JSON.stringify(value, undefined, 2)}\n`;
  for (;;) {
    const problem = await openEditor(editor, text).then(
      (edited) => {
        text = edited;
        return problemOfText(text, problemOf);
      },
      (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
    );
    if (problem === undefined) return JSON.parse(text) as T;
    terminal.warn(`${problem}. Your edit is kept, and nothing was sent.`);
    const isAgain = await terminal.choose([
      { key: "e", word: "edit", label: "edit it again", value: true },
      { key: "d", word: "discard", label: "discard it", value: false },
    ]);
    if (!isAgain) return undefined;
  }
}

/** The members of an edited JSON object. */
type Members = { readonly [name: string]: unknown };

/** Returns why an edited text is not usable. */
function problemOfText(text: string, problemOf: (edited: Members) => string | undefined): string | undefined {
  let edited: unknown;
  try {
    edited = JSON.parse(text);
  } catch (reason) {
    return whyNotJson(text, reason);
  }
  if (typeof edited !== "object" || edited === null || Array.isArray(edited)) return "Expected a JSON object";
  return problemOf(edited as Members);
}

const optionalInRequest =
  "_meta includeContext metadata modelPreferences stopSequences systemPrompt temperature toolChoice tools".split(" ");
const optionalInAnswer = ["_meta", "stopReason"];

/** Returns the problem of an edited request. `original` is what the server sent, and `tokens` what is left for it. */
function problemOfRequest(edited: Members, original: object, tokens: number): string | undefined {
  const problem = problemOfMembers(edited, ["messages", "maxTokens"], [...optionalInRequest, ...Object.keys(original)]);
  if (problem !== undefined) return problem;
  const { messages, maxTokens, temperature, systemPrompt, modelPreferences } = edited;
  if (!(Array.isArray(messages) && messages.length > 0 && messages.every(isMessage))) {
    return 'messages: expected a list of { "role": "user" or "assistant", "content": { … } }';
  }
  if (!(Number.isInteger(maxTokens) && Number(maxTokens) > 0)) {
    return `maxTokens: expected a whole number above zero, got ${JSON.stringify(maxTokens)}`;
  }
  if (Number(maxTokens) > tokens) return `maxTokens: ${tokens} tokens are left, got ${maxTokens}`;
  if (temperature !== undefined && !isBetween(temperature, 0, maxTemperature)) {
    return `temperature: expected a number from 0 to ${maxTemperature}, got ${JSON.stringify(temperature)}`;
  }
  if (systemPrompt !== undefined && typeof systemPrompt !== "string") return "systemPrompt: expected a text";
  const preferences = typeof modelPreferences === "object" && modelPreferences !== null ? modelPreferences : {};
  for (const [name, value] of Object.entries(preferences)) {
    if (!name.endsWith("Priority") || isBetween(value, 0, 1)) continue;
    return `modelPreferences.${name}: expected a number from 0 to 1, got ${JSON.stringify(value)}`;
  }
  return undefined;
}

/** No known provider takes a higher one. */
const maxTemperature = 2;

function problemOfAnswer(edited: Members, original: object): string | undefined {
  const members = [...optionalInAnswer, ...Object.keys(original)];
  const problem = problemOfMembers(edited, ["role", "content", "model"], members);
  if (problem !== undefined) return problem;
  return isContent(edited["content"]) ? undefined : 'content: expected { "type": "text", "text": "…" }';
}

/** Members that a typing mistake has made would be left out without a word. */
function problemOfMembers(
  edited: Members,
  required: readonly string[],
  optional: readonly string[],
): string | undefined {
  const missing = required.filter((name) => !(name in edited));
  if (missing.length > 0) return `Missing in the JSON object: ${missing.join(", ")}`;
  const known = [...required, ...optional];
  const [unknown] = Object.keys(edited).filter((name) => !known.includes(name));
  if (unknown === undefined) return undefined;
  const [near] = nearest(unknown, known);
  return `Unknown member ${JSON.stringify(unknown)}${near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`}`;
}

function isBetween(value: unknown, least: number, most: number): boolean {
  return typeof value === "number" && value >= least && value <= most;
}

/** Says where a text stops being JSON, by its line. */
function whyNotJson(text: string, reason: unknown): string {
  if (!text.trimStart().startsWith("{")) return "Line 1: a JSON object must begin with {";
  const message = reason instanceof Error ? reason.message : String(reason);
  const [, position] = /at position (\d+)/.exec(message) ?? [];
  if (position === undefined)
    return /end of JSON/.test(message) ? "The JSON object has no end" : `This is not JSON: ${message}`;
  const line = text.slice(0, Number(position)).split("\n").length;
  return `Line ${line}: ${message.replace(/ (?:in JSON )?at position .*$/, "")}`;
}

function isMessage(message: unknown): boolean {
  if (typeof message !== "object" || message === null) return false;
  const { role, content } = message as { [name: string]: unknown };
  return (role === "user" || role === "assistant") && isContent(content);
}

/** True if every part has a type. The host checks the rest before anything is sent. */
function isContent(content: unknown): boolean {
  const parts = [content].flat();
  return parts.every((part) => typeof part === "object" && part !== null && "type" in part);
}

async function editLastMessage(context: CommandContext, params: CreateMessageParams): Promise<CreateMessageParams> {
  const last = params.messages.at(-1);
  if (!last) return params;
  const text = await editLine(context, textOf(last.content));
  const message: SamplingMessage = { ...last, content: { type: "text", text } };
  return { ...params, messages: [...params.messages.slice(0, -1), message] };
}

async function editAnswer(context: CommandContext, result: CreateMessageResult): Promise<CreateMessageResult> {
  return { ...result, content: { type: "text", text: await editLine(context, textOf(result.content)) } };
}

/** Returns the words of the person's editor, if one is set. */
function editorOf({ system: { env } }: CommandContext): readonly string[] | undefined {
  const words = (env["VISUAL"] || env["EDITOR"] || "").split(/\s+/).filter(Boolean);
  return words.length > 0 ? words : undefined;
}

/** Opens a text in an editor. Returns the edited text. */
async function openEditor([program = "", ...args]: readonly string[], text: string): Promise<string> {
  // A private folder: editors leave copies beside the file.
  const folder = await mkdtemp(join(tmpdir(), "portolan-edit-"));
  const file = join(folder, "edit.json");
  try {
    await writeFile(file, text, { mode: 0o600 });
    const child = spawn(program, [...args, file], { stdio: "inherit", shell: false });
    const [code] = await once(child, "exit").catch((cause: unknown) => {
      throw new Error(`The editor ${program} cannot be started: set VISUAL to another one`, { cause });
    });
    if (code !== 0) throw new Error(`The editor ${program} exited with code ${code}`);
    return await readFile(file, "utf8");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Lets the person edit text on one line, where `\n` stands for a newline. */
async function editLine({ terminal, screen }: CommandContext, text: string): Promise<string> {
  const shown = screen.safe(text, { lines: "keep" }).replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  const line = await terminal.line({ initial: shown });
  return line.replace(/\\(n|\\)/g, (_, escaped) => (escaped === "n" ? "\n" : "\\"));
}

/** Returns the text of a message, and the kinds of its other parts. */
export function textOf(content: SamplingContent | readonly SamplingContent[]): string {
  return [content].flat().map(textOfBlock).join("\n");
}

/** Only the type decides: the model does not see unknown members. */
function textOfBlock(block: SamplingContent | ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return `[calls ${block.name} with ${JSON.stringify(block.input)}]`;
    case "tool_result":
      return ["[tool result]", ...block.content.map(textOfBlock)].join("\n");
    case "resource":
      return "text" in block.resource ? `[resource]\n${block.resource.text}` : "[resource]";
    default:
      return `[${block.type}]`;
  }
}
