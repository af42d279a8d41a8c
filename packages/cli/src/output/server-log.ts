import { setImmediate } from "node:timers/promises";
import type { Host, HostEvent } from "portolan-host";
import type { Context } from "../command.ts";

/** Shows the person at the terminal what a server logs while it works; `before` makes room for a line. */
export function showLog(context: Context, host: Host, server: string, before: () => void): { end(): Promise<void> } {
  const { terminal, note } = context;
  const events = host.events({ server, kinds: ["log"] })[Symbol.asyncIterator]();
  const held: string[] = [];
  const show = () => {
    // Nothing is written into a question.
    if (terminal.isAsking || held.length === 0) return;
    before();
    for (const line of held.splice(0)) note(line);
  };
  const listening = (async () => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      // Some send everything, whatever they were asked for.
      if (next.value.kind !== "log" || next.value.level === "debug") continue;
      held.push(lineOf(context, next.value));
      show();
    }
  })();
  return {
    async end() {
      // What came before the answer is told before it.
      await setImmediate();
      show();
      await events.return?.();
      await listening;
    },
  };
}

function lineOf({ screen }: Context, { level, logger, data }: Extract<HostEvent, { kind: "log" }>): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return screen.cut(screen.safe(`${level} ${logger === undefined ? text : `${logger}: ${text}`}`));
}
