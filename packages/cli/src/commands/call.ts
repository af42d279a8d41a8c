import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { isReservedByJsonRpc, type JsonObject, PortolanError, RpcError, rpcCodes, type Tool } from "portolan";
import type { Host } from "portolan-host";
import { parseCall } from "../arguments/call-expression.ts";
import { againWith } from "../arguments/flags.ts";
import { misspelt, parseArguments, requireAll } from "../arguments/tool-arguments.ts";
import { askMissing } from "../ask/missing.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure, upstreamLost, withoutOptionNames } from "../failure.ts";
import { modelFor } from "../models.ts";
import { saveContent, showResult, textOfResult, withoutServerInfo } from "../output/content.ts";
import { createProgress, showLog } from "../output/progress.ts";
import { createRecorder, recordEntry } from "../record/record-link.ts";
import { findTarget, lookCommand, suggest, type Target, targetArgument } from "../servers/find-server.ts";
import { rootsOf, withHost } from "../servers/host.ts";
import { missingFailure, whyToolsUnlisted } from "../servers/list-problems.ts";
import { findWithheld } from "../servers/withheld.ts";
import type { System } from "../system.ts";
import { useWarm } from "../warm/warm-entry.ts";

/** Calls a tool of a server. */
export async function run(
  context: CommandContext,
  args: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { screen, signal } = context;
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
  const recorded = recorder ? recordEntry(found.entry, context, recorder) : await useWarm(context, found.entry);
  const target = { ...found, entry: recorded };
  const work = async (host: Host) => {
    await host.start(target.entry.name);
    const definition = findTool(host, target, tool, context);
    const next = lookCommand(found.entry, definition.name, context);
    const given = await readInput(context, words, definition.inputSchema, next);
    for (const { name, meant } of misspelt(given, definition.inputSchema))
      context.warn(`unknown argument ${name}; did you mean ${meant}?`);
    const input = await askMissing(context, given, definition.inputSchema);
    requireAll(definition.name, input, definition.inputSchema, next);
    const progress = createProgress(context, `${target.entry.name}.${definition.name}`);
    const log = showLog(context, host, target.entry.name);
    const result = await host
      .callTool(target.entry.name, definition.name, input, {
        by: "user",
        signal,
        onProgress: (step) => progress.show(step),
        ...(idleMs !== undefined && { idleMs }),
      })
      .catch((reason: unknown) => {
        throw isFailureOfTool(reason)
          ? new Failure("tool", reason.message, { next, cause: reason })
          : explainTimeout(reason, `${target.entry.name}.${definition.name}`, idleMs, context.system);
      })
      .finally(async () => {
        progress.end();
        await log.end();
      });
    const saved = typeof flags["save"] === "string" ? await saveContent(result.content, flags["save"]) : [];
    const { content, structuredContent, _meta, isError } = withoutServerInfo(result);
    const value = {
      content,
      ...(structuredContent !== undefined && { structuredContent }),
      ...(isError && { isError }),
      ...(_meta !== undefined && { _meta }),
      ...(saved.length > 0 && { saved }),
    };
    if (isError) {
      // Programs need the whole result; the message has only its text.
      if (context.isJson) context.print(JSON.stringify(value));
      const message = result.content
        .map((block) => (block.type === "text" ? block.text : `[${block.type}]`))
        .join("\n");
      const withheld = await findWithheld(context, found.entry, message);
      const lines = [message || `${definition.name} failed`, ...(withheld ? [withheld.sentence] : [])];
      throw new Failure("tool", lines.join("\n"), { next: withheld?.next ?? next });
    }
    return {
      value,
      plain: () => textOfResult(result, context),
      text: () =>
        [
          showResult(result, screen, saved.length > 0 ? "" : undefined),
          ...saved.map((path) => screen.style("dim", `saved ${path}`)),
        ].join("\n"),
    };
  };
  const options = { ...modelFor(context), ...rootsOf(context, flags) };
  return withHost(context, [target.entry], work, options).finally(() => recorder?.close());
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
