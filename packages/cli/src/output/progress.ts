import { setImmediate } from "node:timers/promises";
import type { Progress } from "portolan/client";
import type { Host, HostEvent, RunEvent } from "portolan-host";
import type { CommandContext } from "../command.ts";

/** Shows what a call waits for, and its progress once the server reports it. */
export function createProgress(
  { screen, terminal }: CommandContext,
  what: string,
): { show(progress: Progress): void; say(message: string): void; end(): void } {
  const wait = terminal.waits.start(`waiting for ${screen.safe(what)}`);
  return {
    show: (progress) => wait.say(screen.safe(progressText(progress))),
    say: (message) => wait.say(screen.safe(message)),
    end: () => wait.end(),
  };
}

function progressText({ progress, total, message = "" }: Progress): string {
  const share = total !== undefined && total > 0 ? Math.min(1, Math.max(0, progress / total)) : undefined;
  const width = 20;
  const filled = Math.round((share ?? 0) * width);
  const bar =
    share === undefined
      ? `${progress}`
      : `[${"#".repeat(filled)}${" ".repeat(width - filled)}] ${Math.round(share * 100)} %`;
  return `${bar} ${message}`.trimEnd();
}

/** Returns the names of the servers that are being started, as one text; undefined if there are none. */
export function describeStarts({ screen }: CommandContext, [first, ...more]: readonly string[]): string | undefined {
  if (first === undefined) return undefined;
  return `starting ${screen.safe(first)}${more.length > 0 ? ` and ${more.length} more` : ""}`;
}

/** Shows what a run of a model waits for: servers that it starts, the model, or its calls with their progress. */
export function showRunWaits(
  context: CommandContext,
  host: Pick<Host, "servers">,
): { see(event: RunEvent): void; end(): void } {
  const { screen, terminal } = context;
  // The model is asked when every server is ready or was awaited long enough.
  const model = () => {
    const awaited = host.servers.filter(({ state, isOverdue }) => state === "starting" && !isOverdue);
    return (
      describeStarts(
        context,
        awaited.map(({ name }) => name),
      ) ?? "waiting for the model"
    );
  };
  const calls = new Map<string, string>();
  let wait = terminal.waits.start(model);
  const restart = () => {
    wait.end();
    const [first, ...more] = calls.values();
    const others = more.length > 0 ? ` and ${more.length} more` : "";
    wait = terminal.waits.start(first === undefined ? model : `waiting for ${screen.safe(first)}${others}`);
  };
  return {
    see(event) {
      if (event.type !== "tool") return;
      if (event.stage === "progress") wait.say(screen.safe(progressText(event.progress)));
      else {
        if (event.stage === "call") calls.set(event.id, `${event.server}.${event.tool}`);
        else calls.delete(event.id);
        restart();
      }
    },
    end: () => wait.end(),
  };
}

/** Shows log messages of a server during a call. */
export function showLog(context: CommandContext, host: Host, server: string): { end(): Promise<void> } {
  const { terminal, note } = context;
  const events = host.events({ server, kinds: ["log"] })[Symbol.asyncIterator]();
  const held: string[] = [];
  const show = () => {
    // Output must not overwrite a question on the screen.
    if (terminal.isAsking || held.length === 0) return;
    for (const line of held.splice(0)) note(line);
  };
  const listening = (async () => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      // Some servers ignore the requested level.
      if (next.value.kind !== "log" || next.value.level === "debug") continue;
      held.push(lineOf(context, next.value));
      show();
    }
  })();
  return {
    async end() {
      // Messages sent before the answer are shown before it.
      await setImmediate();
      show();
      await events.return?.();
      await listening;
    },
  };
}

function lineOf({ screen }: CommandContext, { level, logger, data }: Extract<HostEvent, { kind: "log" }>): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return screen.cut(screen.safe(`${level} ${logger === undefined ? text : `${logger}: ${text}`}`));
}
