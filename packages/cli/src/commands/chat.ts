import { createInterface } from "node:readline";
import { textFlag } from "../arguments/flags.ts";
import { Chat } from "../chat/chat.ts";
import { findServers, modelLabel, modelNotices, policyOf } from "../chat/model-run.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { chooseModels, showRetries } from "../models.ts";
import { rootsOf, withHost } from "../servers/host.ts";

/** Chats with a model that uses servers. In a pipe, each line of standard input is a message. */
export async function run(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system, screen, terminal, signal } = context;
  const models = chooseModels(system.env, textFlag(flags, "model"), showRetries(context));
  const [model] = models;
  const servers = await findServers(context, flags);
  await withHost(
    context,
    servers,
    async (host) => {
      await host.ready({ signal });
      if (!screen.isInteractive) {
        const chat = new Chat(context, host);
        for await (const line of createInterface({ input: system.stdin })) {
          if (await chat.handleLine(line)) return;
        }
        return;
      }
      const names = host.servers.map(({ name, state }) => (state === "ready" ? name : `${name} (${state})`));
      terminal.say(`${screen.style("bold", screen.safe(modelLabel(model)))} with ${screen.safe(names.join(", "))}`);
      terminal.say(screen.style("dim", "/help lists the commands, /quit leaves"));
      await new Chat(context, host, modelNotices(model)).talk();
    },
    { model: models, policy: policyOf(flags), ...rootsOf(context, flags) },
  );
  return undefined;
}
