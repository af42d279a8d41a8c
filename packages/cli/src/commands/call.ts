import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { isReservedByJsonRpc, type JsonObject, PortolanError, RpcError, rpcCodes, type Tool } from "portolan";
import type { Progress } from "portolan/client";
import type { Host, HostQuestion, StartedTask } from "portolan-host";
import { parseCall } from "../arguments/call-expression.ts";
import { againWith } from "../arguments/flags.ts";
import { misspelt, parseArguments, requireAll } from "../arguments/tool-arguments.ts";
import { createAnswers } from "../ask/answers.ts";
import { askMissing } from "../ask/missing.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure, interruption, upstreamLost, withoutOptionNames } from "../failure.ts";
import { modelFor } from "../models.ts";
import { presentResult } from "../output/call-result.ts";
import { createProgress, showLog } from "../output/progress.ts";
import { goesOn, messageOf } from "../output/tasks.ts";
import { createRecorder, recordEntry } from "../record/record-link.ts";
import { findTarget, lookCommand, suggest, type Target, targetArgument } from "../servers/find-server.ts";
import { rootsOf, withHost } from "../servers/host.ts";
import { missingFailure, whyToolsUnlisted } from "../servers/list-problems.ts";
import type { System } from "../system.ts";
import { driveTask } from "../tasks/drive-task.ts";
import { nextQuestion, unanswered } from "../tasks/task-questions.ts";
import { rememberTarget, toTaskEntry } from "../tasks/task-targets.ts";
import { useWarm } from "../warm/warm-entry.ts";

/** Calls a tool of a server. */
export async function run(
  context: CommandContext,
  args: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { signal } = context;
  const expanded = expandCalls(args);
  const [given, ...rest] = expanded;
  const hasCommand = context.command.length > 0;
  if (flags["describe"] === true) {
    const { run: show } = await import("./ls.ts");
    return show(context, hasCommand ? args.slice(0, 1) : args.slice(0, 2), flags);
  }
  const found = await findTarget(context, hasCommand ? undefined : given, flags);
  const words = hasCommand ? [...expanded] : rest;
  const tool = found.member ?? words.shift();
  const { idleMs } = found.entry.settings;
  const recorder =
    typeof flags["record"] === "string"
      ? createRecorder(context, resolve(context.system.cwd, flags["record"]), found.entry, flags)
      : undefined;
  // A recording begins with the start of a server.
  const isDetached = flags["detach"] === true;
  const used = recorder
    ? recordEntry(found.entry, context, recorder)
    : await (isDetached ? toTaskEntry(context, found.entry) : useWarm(context, found.entry));
  const target = { ...found, entry: used };
  const outlives = "url" in found.entry.target || (!recorder && used !== found.entry);
  /** How the person left the last question of the server that they refused. */
  const dismissed: { how?: "cancel" | "decline" } = {};
  const work = async (host: Host) => {
    await host.start(target.entry.name);
    const definition = findTool(host, target, tool, context);
    const next = lookCommand(found.entry, definition.name, context);
    const typed = await readInput(context, words, definition.inputSchema, next);
    for (const { name, meant } of misspelt(typed, definition.inputSchema))
      context.warn(`unknown argument ${name}; did you mean ${meant}?`);
    const input = await askMissing(context, typed, definition.inputSchema);
    requireAll(definition.name, input, definition.inputSchema, next);
    const what = `${target.entry.name}.${definition.name}`;
    const progress = createProgress(context, what);
    const log = showLog(context, host, target.entry.name);
    // The task of a server that ends with this command is cancelled with it.
    const driven = outlives ? driveTask(context, host, (message) => progress.say(message)) : undefined;
    const options = {
      by: "user" as const,
      signal,
      onProgress: (step: Progress) => progress.show(step),
      ...(idleMs !== undefined && { idleMs }),
    };
    const called: Promise<StartedTask> = isDetached
      ? host.tasks.start(target.entry.name, definition.name, input, options)
      : host.callTool(target.entry.name, definition.name, input, options).then((result) => ({ result }));
    const left = driven?.left.then((task): StartedTask => ({ task })) ?? new Promise<never>(() => {});
    const refused = isLater ? nextQuestion(host).then(failUnasked) : new Promise<never>(() => {});
    const { result, task } = await Promise.race([called, left, refused])
      .catch((reason: unknown) => {
        if (driven?.wasCancelled || dismissed.how === "cancel") throw interruption();
        if (dismissed.how === "decline" && reason instanceof RpcError)
          throw new Failure("denied", reason.message, { cause: reason });
        throw isFailureOfTool(reason)
          ? new Failure("tool", reason.message, { next, cause: reason })
          : explainTimeout(reason, `${target.entry.name}.${definition.name}`, idleMs, context.system);
      })
      .finally(async () => {
        // A call that is left running ends with the host.
        called.catch(() => {});
        driven?.end();
        progress.end();
        await log.end();
      });
    if (task) {
      await rememberTarget(context, task, hasCommand ? undefined : serverWord(given, found), flags);
      return goesOn(task, `${what} goes on as task ${task.id}.`, context.screen);
    }
    if (isDetached) context.warn(`${target.entry.name} made no task of the call, so its result was waited for`);
    if (result.isError && dismissed.how === "cancel") throw interruption();
    const wasRefused = dismissed.how === "decline";
    return presentResult(context, result, { entry: found.entry, tool: definition.name, next, flags, wasRefused });
  };
  const tasks = { resume: "wait" as const };
  // A task that is left alone may ask later, and its server must know that it may.
  const isLater = isDetached && !context.screen.isInteractive;
  const answers = createAnswers(context, {
    refused(how) {
      dismissed.how = how;
    },
  });
  const options = { ...modelFor(context), ...rootsOf(context, flags), tasks, answers: isLater ? unanswered : answers };
  return withHost(context, [target.entry], work, options).finally(() => recorder?.close());
}

/** Fails for a question that the server asks before there is a task: with --detach nobody waits to answer it. */
function failUnasked(question: HostQuestion): never {
  const next = "run it in a terminal, where you can answer";
  throw new Failure("denied", `${question.server} asks before it begins: ${messageOf(question)}`, { next });
}

/** Returns the word that names the server, without the tool in `files.read`. */
function serverWord(given: string | undefined, { member }: Target): string | undefined {
  return member === undefined ? given : given?.slice(0, -member.length - 1);
}

/** Accepts the target or the tool as programs write a call: `files.read(path: "a.txt")`. */
function expandCalls(args: readonly string[]): string[] {
  const at = args.slice(0, 2).findIndex((word) => parseCall(word) !== undefined);
  const call = parseCall(args[at] ?? "");
  return call ? [...args.slice(0, at), call.name, ...call.words, ...args.slice(at + 1)] : [...args];
}

/** The definition of a tool, as far as the arguments of a call need it. */
type CalledTool = Pick<Tool, "name" | "inputSchema">;

function findTool(host: Host, { entry }: Target, name: string | undefined, context: CommandContext): CalledTool {
  const { screen, system, warn } = context;
  const tools = host.catalog.tools;
  const found = tools.find((tool) => tool.name === name);
  if (found) return found.definition;
  const why = name === undefined ? undefined : whyToolsUnlisted(host, entry);
  if (name !== undefined && why !== undefined) {
    warn(`${why}; the call is made without its definition, and its arguments are sent as given`);
    return { name, inputSchema: { type: "object" } };
  }
  const unlisted = missingFailure(host, entry, "tools", name, system);
  if (unlisted) throw unlisted;
  const next = `portolan ls ${targetArgument(entry, system)}`;
  const similar = name === undefined ? [] : host.catalog.search(name, { limit: 3 }).map((tool) => tool.name);
  const names = tools.map((tool) => tool.name);
  const what = name === undefined ? "no tool given" : `${entry.name} has no tool ${JSON.stringify(name)}`;
  throw new Failure("usage", `${what}; ${screen.safe(suggest(name, names, next, similar))}`, { next });
}

/** Parses the arguments. `-` reads a JSON object from standard input. */
async function readInput(
  { system }: CommandContext,
  words: readonly string[],
  schema: JsonObject,
  next: string,
): Promise<JsonObject> {
  const parts = await Promise.all(words.map((word) => (word === "-" ? text(system.stdin) : word)));
  if (words.some((word, at) => word === "-" && parts[at]?.trim() === "")) {
    throw new Failure("usage", "expected a JSON object on standard input, got nothing");
  }
  return parseArguments(
    parts.map((part) => (part.trimStart().startsWith("{") ? part.trim() : part)),
    schema,
    next,
  );
}

/** True for an error that the tool itself caused: an internal one, or one with a code of the server's own. */
function isFailureOfTool(reason: unknown): reason is RpcError {
  if (!(reason instanceof RpcError) || reason.code === upstreamLost) return false;
  return reason.code === rpcCodes.internalError || !isReservedByJsonRpc(reason.code);
}

/** Names the tool as the person knows it, and the same command with a longer timeout. */
function explainTimeout(reason: unknown, what: string, timeoutMs = 60_000, system: System): unknown {
  if (!(reason instanceof PortolanError) || reason.code !== "timeout") return reason;
  const message = withoutOptionNames(reason.message).replace(/^tools\/call ".*?"(?=: )/, () => what);
  const seconds = Math.ceil((2 * timeoutMs) / 1_000);
  return new Failure("timeout", message, { next: againWith(system, "--timeout", String(seconds)), cause: reason });
}
