import { createInterface } from "node:readline";
import { createAnswers } from "../ask/answers.ts";
import { Chat } from "../chat/chat.ts";
import {
  findServers,
  modelHint,
  modelLabel,
  policyOf,
  refuseWithoutTerminal,
  requireNamed,
  requireUnrefused,
  withoutNotice,
} from "../chat/model-run.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { findModels, showRetries } from "../models.ts";
import { signInCommand } from "../servers/explain.ts";
import { rootsOf, withHost } from "../servers/host.ts";
import { quote } from "../terminal/escape.ts";
import { listOf, wrap } from "../terminal/wrap.ts";

/** Chats with a model that uses servers. In a pipe, each line of standard input is a message. */
export async function run(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system, screen, terminal, signal } = context;
  const [model, ...others] = await findModels(system, flags, showRetries(context));
  // The screen introduces the model at once, a pipe gets its notice with the first message.
  const models = [screen.isInteractive ? withoutNotice(model) : model, ...others];
  const servers = await findServers(context, flags);
  const refused = new Set<string>();
  const approvedCalls = new Set<string>();
  let chat: Chat | undefined;
  await withHost(
    context,
    servers,
    async (host) => {
      await requireNamed(context, host, servers, flags);
      await host.ready({ signal });
      if (!screen.isInteractive) {
        const chat = new Chat(context, host, { models: [model, ...others], servers, approvedCalls });
        for await (const line of createInterface({ input: system.stdin })) {
          if (await chat.handleLine(line)) break;
        }
        requireUnrefused(context, host, flags, refused);
        return;
      }
      const untrusted = host.servers.filter(({ state }) => state === "untrusted");
      const used = host.servers.filter(({ state }) => state !== "untrusted");
      const names = used.map(({ name, state }) => {
        if (state === "ready") return name;
        return `${name} (${wordsOfStates[state] ?? state})`;
      });
      const withNames = names.length === 0 ? "without a server" : `with ${screen.safe(names.join(", "))}`;
      terminal.say(`${screen.style("bold", screen.safe(modelLabel(model)))} ${withNames}`);
      const [first] = untrusted;
      if (first) {
        const why =
          untrusted.length === 1 ? "is not trusted, so it is not used" : "are not trusted, so they are not used";
        terminal.say(
          `  ${screen.safe(
            listOf(
              untrusted.map(({ name }) => name),
              "and",
            ),
          )} ${why}`,
        );
        terminal.say(`  ${screen.mark("next")} ${screen.step(`portolan trust ${quote(first.name)}`)}`);
      }
      for (const { name } of host.servers.filter(({ state }) => state === "login")) {
        terminal.say(`  ${screen.mark("next")} ${screen.step(signInCommand(servers, name))}`);
      }
      const hints = [modelHint(model) ?? [], "/help lists the commands, /quit leaves"].flat();
      for (const line of wrap(hints.join("\n"), screen.columns)) terminal.say(screen.style("dim", line));
      chat = new Chat(context, host, { models: [model, ...others], servers, approvedCalls });
      await chat.talk();
    },
    {
      answers: {
        ...createAnswers(context, {
          approvedCalls,
          revoke: (name) => `/grants revoke ${name}`,
          cancelled: () => chat?.cancelRun(),
        }),
        ...refuseWithoutTerminal(context, refused),
      },
      // The chat does not wait for a browser: the other servers are there.
      skipsSignIn: true,
      model: models,
      policy: policyOf(flags),
      tasks: { resume: "wait" },
      ...rootsOf(context, flags),
    },
  );
  return undefined;
}

/** States of servers that need an explanation. */
const wordsOfStates: { readonly [state: string]: string } = {
  starting: "still starting, joins when it is ready",
  login: "needs sign-in",
};
