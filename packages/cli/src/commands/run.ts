import { textFlag } from "../arguments/flags.ts";
import { findServers, readOnlyPolicy, runFailure, showRun } from "../chat/model-run.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { chooseModels, showRetries } from "../models.ts";
import { rootsOf, withHost } from "../servers/host.ts";

/** Lets a model work on one task with servers. */
export async function run(
  context: CommandContext,
  args: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system, screen, signal } = context;
  const task = args.join(" ");
  const models = chooseModels(system.env, textFlag(flags, "model"), showRetries(context));
  const maxTurns = typeof flags["maxTurns"] === "string" ? countOf(flags["maxTurns"]) : undefined;
  const servers = await findServers(context, flags);
  const [model] = models;
  // A model with a notice introduces itself.
  if (model.notice === undefined) context.note(screen.safe(model.id));
  return withHost(
    context,
    servers,
    async (host) => {
      const done = await showRun(context, host.run(task, { signal, ...(maxTurns !== undefined && { maxTurns }) }));
      const failure = runFailure(done);
      if (failure !== undefined) throw failure;
      return undefined;
    },
    { model: models, policy: readOnlyPolicy(flags), ...rootsOf(context, flags) },
  );
}

function countOf(given: string): number {
  const count = Number(given);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Failure("usage", `--max-turns: expected a number of turns, got ${JSON.stringify(given)}`);
}
