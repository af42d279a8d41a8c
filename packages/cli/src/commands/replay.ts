import { resolve } from "node:path";
import { type JsonObject, type Message, PortolanError } from "portolan";
import { type AnswerDifference, type RecordedMessage, rerun } from "portolan-recording";
import { againWith } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { openForCommand } from "../record/open.ts";
import { findServer } from "../servers/find-server.ts";
import { requireUsable } from "../servers/host.ts";
import { createLink, explainLink } from "../servers/link.ts";
import { quote } from "../terminal/escape.ts";

/** Shows a recording, or sends its requests again to a server and compares the answers. */
export async function run(
  context: CommandContext,
  [file = "", target]: readonly string[],
  flags: Flags,
): Promise<CommandResult> {
  const server = target ?? context.command[0];
  if (server !== undefined && flags["check"] !== true) {
    throw new Failure("usage", `without --check a recording is only shown, and ${JSON.stringify(server)} is not used`, {
      next: againWith(context.system, "--check"),
    });
  }
  const recording = openForCommand(resolve(context.system.cwd, file));
  if (flags["check"] === true) return check(context, { ...recording, file }, target, flags);
  const { screen } = context;
  const { header, messages } = recording;
  return {
    value: { ...header, messages: messages.map(({ at, from, message }) => ({ at, from, message })) },
    text() {
      const title = `${screen.style("bold", screen.safe(header.server))}  ${screen.style("dim", `${screen.safe(header.startedAt)} ${screen.safe(header.by)}`)}`;
      const rows = messages.map(({ at, from, message }) =>
        screen.cut(
          `${screen.style("dim", `${(at / 1000).toFixed(3).padStart(8)} s`)} ${from === "client" ? ">" : "<"} ${screen.safe(summaryOf(message))}`,
        ),
      );
      return [title, ...rows].join("\n");
    },
  };
}

function summaryOf(message: Message): string {
  if ("method" in message) {
    const { _meta, ...asked } = message.params ?? {};
    const id = "id" in message ? ` #${message.id}` : "";
    return `${message.method}${id} ${Object.keys(asked).length > 0 ? JSON.stringify(asked) : ""}`.trim();
  }
  if ("error" in message) return `#${message.id ?? "?"} error ${message.error.code} ${message.error.message}`;
  return `#${message.id} ${JSON.stringify(message.result)}`;
}

async function check(
  context: CommandContext,
  recording: { readonly messages: readonly RecordedMessage[]; readonly file: string },
  target: string | undefined,
  flags: Flags,
): Promise<CommandResult> {
  const { screen, signal } = context;
  const entry = await findServer(context, target, flags);
  await requireUsable(context, entry);
  const differences: AnswerDifference[] = [];
  let count = 0;
  const wait = context.terminal.waits.start(`replaying to ${screen.safe(entry.name)}`);
  try {
    for await (const compared of rerun(recording.messages, await createLink(entry, context), {
      signal,
      timeoutMs: entry.settings.idleMs,
    })) {
      count += 1;
      differences.push(...compared);
    }
  } catch (reason) {
    if (reason instanceof PortolanError && reason.code === "timeout") {
      throw new Failure("timeout", reason.message, { next: "allow more time: --timeout <seconds>", cause: reason });
    }
    throw await explainLink(reason, entry, context.system);
  } finally {
    wait.end();
  }
  if (differences.length > 0) {
    const rows = differences.map(({ request, path, recorded, now }) =>
      context.isJson
        ? JSON.stringify({ request, path, recorded, now } satisfies JsonObject)
        : `${screen.safe(request)} ${screen.style("bold", screen.safe(path))}\n  ${screen.style("red", `- ${show(recorded, context)}`)}\n  ${screen.style("green", `+ ${show(now, context)}`)}`,
    );
    for (const row of rows) context.print(row);
    const found = differences.length === 1 ? "1 difference" : `${differences.length} differences`;
    throw new Failure("protocol", `${found} from the recording`, { next: `portolan replay ${quote(recording.file)}` });
  }
  return {
    value: { answers: count, differences: [] },
    text: () => `${screen.style("green", screen.mark("ok"))} ${count} answers match the recording`,
  };
}

function show(value: unknown, { screen }: CommandContext): string {
  return value === undefined ? "nothing" : screen.cut(screen.safe(JSON.stringify(value)));
}
