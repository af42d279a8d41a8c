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
import type { CommandContext } from "../command.ts";
import { QuestionDismissed } from "../terminal/input.ts";

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
  const cost = `about ${inputTokens} tokens in, at most ${params.maxTokens} out`;
  const rest = `${left.tokens} tokens and ${left.requests} requests left`;
  terminal.say(`  ${screen.style("dim", `${named(model)}: ${cost}; ${rest}`)}`);
  showRequest(context, params);
  for (;;) {
    const step = await terminal.choose<Step>([
      { key: "y", label: "approve", value: "allow" },
      { key: "s", label: "this session", value: "session" },
      { key: "v", label: "view all", value: "view" },
      { key: "e", label: "edit", value: "edit" },
      ...(alternatives.length > 0 ? [{ key: "m", label: "another model", value: "model" } as const] : []),
      { key: "n", label: "deny", value: "deny" },
      { key: "N", label: "never", value: "never" },
    ]);
    if (step === "view") terminal.bar(screen.json(params));
    else if (step === "edit") {
      const edited = await edit(context, params, () => editLastMessage(context, params));
      if (edited) {
        params = edited;
        isEdited = true;
        showRequest(context, params);
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
      { key: "y", label: "send it", value: "allow" },
      { key: "v", label: "view all", value: "view" },
      { key: "e", label: "edit", value: "edit" },
      { key: "n", label: "withhold it", value: "deny" },
    ]);
    if (step === "view") terminal.bar(screen.json(result));
    else if (step === "edit") {
      const edited = await edit(context, result, () => editAnswer(context, result));
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
): void {
  if (systemPrompt !== undefined) {
    terminal.say(`  ${screen.style("dim", "system")}`);
    terminal.quote(systemPrompt, 6);
  }
  for (const { role, content } of messages) {
    terminal.say(`  ${screen.style("dim", `${screen.safe(role)}`)}`);
    terminal.quote(textOf(content), 12);
  }
  if (tools && tools.length > 0) {
    terminal.say(`  ${screen.style("dim", "tools")} ${screen.safe(tools.map(({ name }) => name).join(", "))}`);
  }
}

/**
 * Lets the person edit a value as JSON in an editor, or its text on a line. Returns undefined if the result is
 * unusable.
 */
async function edit<T extends object>(
  context: CommandContext,
  value: T,
  byLine: () => Promise<T>,
): Promise<T | undefined> {
  try {
    const edited = await editJson(context, value);
    if (edited === undefined) return await byLine();
    if (typeof edited !== "object" || edited === null || !Object.keys(value).every((key) => key in edited)) {
      throw new Error(`expected a JSON object with ${Object.keys(value).join(", ")}`);
    }
    return edited as T;
  } catch (reason) {
    if (!(reason instanceof Error) || reason instanceof QuestionDismissed) throw reason;
    context.terminal.warn(`not changed: ${reason.message}`);
    return undefined;
  }
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

/** Opens a value as JSON in the person's editor. Returns undefined if no editor is set. */
async function editJson(context: CommandContext, value: unknown): Promise<unknown> {
  const { env } = context.system;
  const [program, ...args] = (env["VISUAL"] || env["EDITOR"] || "").split(/\s+/).filter(Boolean);
  if (program === undefined) return undefined;
  // A private folder: editors leave copies beside the file.
  const folder = await mkdtemp(join(tmpdir(), "portolan-edit-"));
  const file = join(folder, "edit.json");
  try {
    await writeFile(file, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
    const child = spawn(program, [...args, file], { stdio: "inherit", shell: false });
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`${program} exited with code ${code}`);
    return JSON.parse(await readFile(file, "utf8"));
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
