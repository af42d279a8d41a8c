import { setImmediate } from "node:timers/promises";
import type { Progress } from "portolan/client";
import type { Host, HostEvent } from "portolan-host";
import type { CommandContext } from "../command.ts";

/** A call may take this long before the terminal says that it waits. */
const quietMs = 3_000;

/**
 * Shows progress on one line of the terminal, which is cleared afterwards. Without progress it says what it waits for.
 */
export function createProgress(
  { system, screen, terminal }: CommandContext,
  what?: string,
): { show(progress: Progress): void; end(): void } {
  const { stderr } = system;
  let isShown = false;
  const draw = (line: string) => {
    if (!stderr.isTTY || screen.isDumb || terminal.isAsking) return;
    stderr.write(`\r\u001b[K${screen.cut(line)}`);
    isShown = true;
  };
  const wait = () => draw(screen.style("dim", `waiting for ${screen.safe(what ?? "")}; Ctrl-C cancels`));
  const silence = what === undefined ? undefined : setTimeout(wait, quietMs);
  return {
    show({ progress, total, message = "" }) {
      clearTimeout(silence);
      const share = total !== undefined && total > 0 ? Math.min(1, Math.max(0, progress / total)) : undefined;
      const width = 20;
      const filled = Math.round((share ?? 0) * width);
      const bar =
        share === undefined
          ? `${progress}`
          : `[${"#".repeat(filled)}${" ".repeat(width - filled)}] ${Math.round(share * 100)} %`;
      draw(`${bar} ${screen.safe(message)}`);
    },
    end() {
      clearTimeout(silence);
      if (isShown) stderr.write("\r\u001b[K");
      isShown = false;
    },
  };
}

/** Shows log messages of a server during a call. `before` clears the progress line. */
export function showLog(
  context: CommandContext,
  host: Host,
  server: string,
  before: () => void,
): { end(): Promise<void> } {
  const { terminal, note } = context;
  const events = host.events({ server, kinds: ["log"] })[Symbol.asyncIterator]();
  const held: string[] = [];
  const show = () => {
    // Output must not overwrite a question on the screen.
    if (terminal.isAsking || held.length === 0) return;
    before();
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
