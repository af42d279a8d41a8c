import { failureOf, findServers, follow, policyOf } from "../chat/model-run.ts";
import type { Context, Flags, Shown } from "../command.ts";
import { Failure } from "../failure.ts";
import { chooseModels } from "../models.ts";
import { rootsOf, withHost } from "../servers/host.ts";

/** Has a model work on one task with servers. */
export async function run(context: Context, args: readonly string[], flags: Flags): Promise<Shown | undefined> {
  const { world, screen, signal } = context;
  const task = args.join(" ");
  const models = chooseModels(world.env, typeof flags["model"] === "string" ? flags["model"] : undefined);
  const maxTurns = typeof flags["maxTurns"] === "string" ? countOf(flags["maxTurns"]) : undefined;
  const servers = await findServers(context, flags);
  const [model] = models;
  // One that has something to be known of it says so itself.
  if (model.notice === undefined) context.note(screen.safe(model.id));
  return withHost(
    context,
    servers,
    async (host) => {
      const done = await follow(context, host.run(task, { signal, ...(maxTurns !== undefined && { maxTurns }) }));
      const failure = failureOf(done);
      if (failure !== undefined) throw failure;
      return undefined;
    },
    { model: models, policy: policyOf(flags), ...rootsOf(context, flags) },
  );
}

function countOf(given: string): number {
  const count = Number(given);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Failure("usage", `--max-turns: expected a number of turns, got ${JSON.stringify(given)}`);
}
