import { text } from "node:stream/consumers";
import { againWith, countFlag } from "../arguments/flags.ts";
import { createAnswers } from "../ask/answers.ts";
import {
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
import { Failure } from "../failure.ts";
import { findModels, showRetries } from "../models.ts";
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
      const shown = { host, servers, isTextOnly, repeatsResults: model.repeatsResults, approvedCalls };
      const done = await showRun(context, running, shown);
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
