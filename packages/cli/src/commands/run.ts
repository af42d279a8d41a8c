import { text } from "node:stream/consumers";
import type { CallToolResult } from "portolan";
import type { ServerEntry } from "portolan-host";
import { againWith, countFlag } from "../arguments/flags.ts";
import { createAnswers } from "../ask/answers.ts";
import {
  denyReason,
  findServers,
  modelHint,
  modelLabel,
  policyOf,
  refuseWithoutTerminal,
  requireNamed,
  requireUnrefused,
  runFailure,
  showRun,
  withoutNotice,
} from "../chat/model-run.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure, withoutOptionNames } from "../failure.ts";
import { findModels, showRetries } from "../models.ts";
import { lookCommand } from "../servers/find-server.ts";
import { rootsOf, withHost } from "../servers/host.ts";
import { wrap } from "../terminal/wrap.ts";

/** Lets a model work on one task with servers. */
export async function run(
  context: CommandContext,
  args: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system, screen, signal, isJson } = context;
  const isTextOnly = flags["text"] === true;
  const [model, ...others] = await findModels(system, flags, showRetries(context));
  const maxTurns = countFlag(flags, "maxTurns");
  const policy = policyOf(flags);
  const task = await readTask(context, args);
  const servers = await findServers(context, flags);
  context.note(screen.safe(modelLabel(model)));
  const hint = modelHint(model);
  for (const line of hint === undefined ? [] : wrap(hint, screen.columns)) context.note(screen.style("dim", line));
  // A screen has introduced the model, JSON gets its notice as an event.
  const models = [isJson ? model : withoutNotice(model), ...others];
  const refused = new Set<string>();
  const approvedCalls = new Set<string>();
  return withHost(
    context,
    servers,
    async (host) => {
      // A task for one server makes no sense without it.
      await requireNamed(context, host, servers, flags);
      const running = host.run(task, { signal, ...(maxTurns !== undefined && { maxTurns }) });
      const calls = new CallOutcomes();
      const done = await showRun(context, running, {
        ...{ host, servers, isTextOnly, repeatsResults: model.repeatsResults, approvedCalls },
        answered: (result, call) => calls.add(result, call),
      });
      const failure = runFailure(done, {
        "max-turns": againWith(system, "--max-turns", String(2 * (maxTurns ?? 20))),
        "max-calls": "split the task into smaller ones",
        "max-tokens": "ask for a shorter answer",
        context: "split the task into smaller ones",
        refusal: "put the task in other words",
      });
      if (failure !== undefined) throw failure;
      // The answer is useful although something was refused.
      if (isTextOnly) context.print(screen.isTerminal ? screen.safe(done.text, { lines: "keep" }) : done.text);
      requireUnrefused(context, host, flags, refused);
      const undone = calls.failure(context, servers);
      if (undone) throw undone;
      return undefined;
    },
    {
      model: models,
      policy,
      answers: { ...createAnswers(context, { approvedCalls }), ...refuseWithoutTerminal(context, refused) },
      tasks: { resume: "wait" },
      ...rootsOf(context, flags),
    },
  );
}

/** Notes how the calls of a run ended. */
class CallOutcomes {
  readonly #denied = new Set<string>();
  readonly #failed: { readonly server: string; readonly tool: string; readonly why: string }[] = [];
  #succeeded = 0;

  add(
    { isError, content }: CallToolResult,
    call: { readonly server: string; readonly tool: string } | undefined,
  ): void {
    if (!call) return;
    if (!isError) {
      this.#succeeded += 1;
      return;
    }
    const { server, tool } = call;
    const why = content.map((block) => (block.type === "text" ? block.text : "")).join(" ");
    // The host ends each of its refusals in this way.
    if (!why.endsWith("Do not try it again unless the user asks for it.")) this.#failed.push({ server, tool, why });
    else if (why.includes(denyReason)) this.#denied.add(`${server}.${tool}`);
  }

  /** Returns why nothing was done, if no call succeeded. The person knows what they refused themselves. */
  failure(context: CommandContext, servers: readonly ServerEntry[]): Failure | undefined {
    if (this.#succeeded > 0) return undefined;
    const last = this.#failed.at(-1);
    if (last) {
      const entry = servers.find(({ name }) => name === last.server);
      const [line = ""] = withoutOptionNames(last.why).split("\n");
      const message = line.startsWith(`${last.server}.${last.tool} `)
        ? line
        : `${last.server}.${last.tool} failed: ${line}`;
      return new Failure("tool", message, { next: entry && lookCommand(entry, last.tool, context) });
    }
    if (this.#denied.size === 0) return undefined;
    const names = [...this.#denied].join(" and ");
    return new Failure("denied", `${names} was not called: ${denyReason}`, {
      next: "leave out --deny, or put the task in other words",
    });
  }
}

/** Returns the task: the words of the command line, with standard input in place of `-`, or standard input alone. */
async function readTask({ system }: CommandContext, args: readonly string[]): Promise<string> {
  const words = args.length === 0 && !system.stdin.isTTY ? ["-"] : args;
  const read = words.includes("-") ? (await text(system.stdin)).trim() : "";
  const task = words.map((word) => (word === "-" ? read : word)).join(" ");
  if (task.trim() !== "") return task;
  throw new Failure("usage", "no task given; expected it as an argument, or on standard input", {
    next: 'portolan run "what can you do?"',
  });
}
