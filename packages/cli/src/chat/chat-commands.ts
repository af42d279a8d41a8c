import type { ActivityEntry, Host } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { withoutOptionNames } from "../failure.ts";
import { hintsIn, signatureOf } from "../output/signature.ts";
import { chatCommands } from "./line.ts";

/** Runs a command of the chat, such as `/tools`. */
export async function showCommand(context: CommandContext, host: Host, name: string, rest: string): Promise<void> {
  const { screen, terminal } = context;
  const dim = (text: string) => screen.style("dim", text);
  const { catalog } = host;
  switch (name) {
    case "tools": {
      const found = rest === "" ? catalog.tools : catalog.search(rest, { limit: 20 });
      for (const { server, definition } of found) {
        const hints = hintsIn(definition)
          .map((hint) => ` ${screen.mark("dot")} ${hint}`)
          .join("");
        terminal.say(screen.cut(`  ${dim(`${screen.safe(server)}.`)}${signatureOf(definition, screen)}${dim(hints)}`));
      }
      if (found.length === 0) terminal.say(dim("  none"));
      break;
    }
    case "servers":
      for (const { name: server, state, reason, listProblems = [] } of host.servers) {
        const tools = catalog.tools.filter((tool) => tool.server === server).length;
        const failed = listProblems.find(({ kind }) => kind === "failed");
        const why = failed?.message ?? (state === "ready" ? undefined : (reason ?? ""));
        const about =
          why === undefined
            ? `${tools} ${tools === 1 ? "tool" : "tools"}`
            : screen.safe(withoutOptionNames(why.split("\n")[0] ?? ""));
        terminal.say(screen.cut(`  ${screen.style("bold", screen.safe(server))} ${state} ${dim(about)}`));
      }
      break;
    case "prompts":
      for (const { server, name: prompt, arguments: args = [], description = "" } of catalog.prompts) {
        const more = screen.mark("more");
        const wanted = args.map((it) => (it.required ? `${it.name}=${more}` : `[${it.name}=${more}]`)).join(" ");
        terminal.say(
          screen.cut(`  /${screen.safe(`${prompt} ${wanted}`)} ${dim(screen.safe(`${server}: ${description}`))}`),
        );
      }
      if (catalog.prompts.length === 0) terminal.say(dim("  none"));
      break;
    case "log": {
      await host.activity.flush();
      const entries: ActivityEntry[] = [];
      const query = { newestFirst: true, limit: 15, ...(rest !== "" && { text: rest }) };
      for await (const entry of host.activity.query(query)) entries.unshift(entry);
      for (const { at, seq: _, id: _id, run: _run, kind, server = "", name: what = "", ...more } of entries) {
        const line = `${at.slice(11, 19)} ${kind.padEnd(9)} ${server}${what ? `.${what}` : ""}`;
        terminal.say(screen.cut(`  ${screen.safe(line)} ${dim(screen.safe(JSON.stringify(more)))}`));
      }
      break;
    }
    default:
      for (const [command, says] of Object.entries(chatCommands)) {
        terminal.say(`  ${screen.style("bold", `/${command}`)} ${dim(says)}`);
      }
      terminal.say(`  ${screen.style("bold", "@")} ${dim("attach a resource; @word searches, Tab completes")}`);
      terminal.say(`  ${screen.style("bold", "Ctrl-C")} ${dim("cancel; press twice to leave")}`);
  }
}
