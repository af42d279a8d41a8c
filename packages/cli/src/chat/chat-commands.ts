import type { ActivityEntry, Host } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure, withoutOptionNames } from "../failure.ts";
import { detailsOf, isOrdinaryState, subjectOf } from "../output/activity.ts";
import { findGrants, grantsTable, isInformative, revokedText, sortGrants } from "../output/grants.ts";
import { hintsIn, signatureOf } from "../output/signature.ts";
import { widthOf, wrap } from "../terminal/wrap.ts";
import { chatCommands } from "./line.ts";

/** The latest entries that `/log` shows. */
const maxLogEntries = 15;

/** The keys of the chat, for help. */
const chatKeys: { readonly [key: string]: string } = {
  "@": "attach a resource; @word searches, Tab completes",
  "Ctrl-R": "search the lines that you typed, also in earlier chats",
  "Ctrl-C": "cancel the answer, or clear the line; press it twice on an empty line to leave",
};

/** Runs a command of the chat, such as `/tools`. */
export async function showCommand(context: CommandContext, host: Host, name: string, rest: string): Promise<void> {
  const { screen, terminal } = context;
  const dim = (text: string) => screen.style("dim", text);
  const { catalog } = host;
  switch (name) {
    case "tools": {
      const whole = catalog.tools.filter(({ server, name: tool }) => tool === rest || `${server}.${tool}` === rest);
      if (whole.length > 0) {
        for (const { server, definition } of whole) {
          terminal.say(`  ${dim(`${screen.safe(server)}.`)}${screen.style("bold", screen.safe(definition.name))}`);
          terminal.bar(screen.json(definition));
        }
        break;
      }
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
        sayDescribed(context, `  ${screen.style("bold", screen.safe(server))} ${state}`, about);
      }
      break;
    case "prompts":
      for (const { server, name: prompt, arguments: args = [], description = "" } of catalog.prompts) {
        const more = screen.mark("more");
        const wanted = args.map((it) => (it.required ? `${it.name}=${more}` : `[${it.name}=${more}]`)).join(" ");
        sayDescribed(
          context,
          `  /${screen.safe(`${prompt} ${wanted}`.trim())}`,
          screen.safe(`${server}: ${description}`),
        );
      }
      if (catalog.prompts.length === 0) terminal.say(dim("  none"));
      break;
    case "grants":
      await showGrants(context, host, rest);
      break;
    case "log": {
      await host.activity.flush();
      const [number] = /^\d{1,15}$/.exec(rest) ?? [];
      if (number !== undefined) {
        terminal.bar(screen.json(await findEntry(host, Number(number))));
        break;
      }
      const entries: ActivityEntry[] = [];
      for await (const entry of host.activity.query({ newestFirst: true, ...(rest !== "" && { text: rest }) })) {
        if (!isOrdinaryState(entry)) entries.unshift(entry);
        if (entries.length === maxLogEntries) break;
      }
      if (entries.length === 0) terminal.say(dim("  none"));
      // An entry keeps its number, whatever is logged or searched for later.
      const width = Math.max(2, String(entries.at(-1)?.seq ?? "").length);
      for (const entry of entries) {
        const line = `${String(entry.seq).padStart(width)} ${entry.at.slice(11, 19)} ${entry.kind.padEnd(9)} ${subjectOf(entry)}`;
        terminal.say(screen.cut(`  ${screen.safe(line)} ${dim(screen.safe(detailsOf(entry)))}`.trimEnd()));
      }
      break;
    }
    default:
      showHelp(context);
  }
}

/** Writes a line with a description behind it, or below it if there is no room. */
function sayDescribed({ screen, terminal }: CommandContext, line: string, about: string): void {
  const dim = (text: string) => screen.style("dim", text);
  if (widthOf(`${line} ${about}`) <= terminal.columns) {
    terminal.say(`${line} ${dim(about)}`);
    return;
  }
  terminal.say(line);
  for (const part of wrap(about, terminal.columns - 4)) terminal.say(`    ${dim(part)}`);
}

/** Finds an entry of the log by its number. */
async function findEntry(host: Host, seq: number): Promise<ActivityEntry> {
  for await (const entry of host.activity.query({ newestFirst: true })) {
    if (entry.seq === seq) return entry;
    if (entry.seq < seq) break;
  }
  throw new Failure("usage", `the log has no entry ${seq}`, { next: "/log" });
}

/** Lists the commands and keys, in two columns. */
function showHelp({ screen, terminal }: CommandContext): void {
  const rows = [
    ...Object.entries(chatCommands).map(([command, says]) => [`/${command}`, says] as const),
    ...Object.entries(chatKeys),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, says] of rows) {
    const [first = "", ...more] = wrap(says, terminal.columns - width - 4);
    terminal.say(`  ${screen.style("bold", name.padEnd(width))}  ${screen.style("dim", first)}`);
    for (const line of more) terminal.say(`${" ".repeat(width + 4)}${screen.style("dim", line)}`);
  }
}

/** Lists the grants, or revokes some: `revoke <id or name>`. */
async function showGrants({ screen, terminal }: CommandContext, host: Host, rest: string): Promise<void> {
  const grants = sortGrants(host.grants.list());
  const [, wanted] = /^revoke\s+(.+)$/.exec(rest.trim()) ?? [];
  if (wanted !== undefined) {
    for (const grant of findGrants(grants, wanted, "/grants")) {
      await host.grants.revoke(grant.id);
      terminal.say(`${screen.style("green", screen.mark("ok"))} ${revokedText(grant, screen)}`);
    }
    return;
  }
  if (rest.trim() === "revoke") {
    throw new Failure("usage", "/grants revoke needs the id or name of one of those that /grants lists", {
      next: "/grants",
    });
  }
  if (rest.trim() !== "") {
    throw new Failure("usage", `expected /grants, or /grants revoke <id or name>, got "/grants ${rest}"`, {
      next: "/grants",
    });
  }
  const shown = grants.filter(isInformative);
  if (shown.length > 0) terminal.say(grantsTable(shown, screen));
  else terminal.say(screen.style("dim", "  You have not permanently allowed or denied anything."));
}
