import { dirname, relative } from "node:path";
import type { Host, ListProblem, ServerEntry, ServerStatus } from "portolan-host";
import { secondsFlag } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { withoutOptionNames } from "../failure.ts";
import { readConfiguration } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { quote } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";
import { durationOf } from "../terminal/waits.ts";
import { widthOf, wrap } from "../terminal/wrap.ts";
import { useRunning } from "../warm/warm-entry.ts";

/** The longest wait for a server. Default of `--timeout`. */
const waitMs = 5_000;

/** Lists all configured servers with their states. On a terminal, each is shown as soon as it answers. */
export async function run(context: CommandContext, _: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen, system } = context;
  const withinMs = secondsFlag(flags, "timeout") ?? waitMs;
  const { entries: configured, errors, notes, shadowed } = await readConfiguration(context);
  const { entries: used, running, others } = await useRunning(context, configured);
  const entries = used.map(endSoon);
  const rowsOf = (host: Host, waiting: (status: ServerStatus) => ServerRow) =>
    context.secrets.hideIn(
      host.servers.map((status): ServerRow => {
        const tools = host.catalog.tools.filter(({ server }) => server === status.name).length;
        const row = status.state === "starting" ? waiting(status) : describe(status);
        return { ...row, from: shortPath(status, system), tools, ...(running.has(status.name) && { isUp: true }) };
      }),
    );
  const outputs = new Map<string, string>();
  const look = async (host: Host) => {
    if (!flags["offline"]) {
      const events = host.events({ kinds: ["stderr"] });
      void (async () => {
        for await (const event of events) if (event.kind === "stderr") outputs.set(event.server, event.line);
      })();
      const stop = showLive(context, (elapsedMs) =>
        tableOf(
          rowsOf(host, ({ name }) => ({
            name,
            state: "starting",
            detail: durationOf(elapsedMs),
            spinner: screen.spinner(Math.floor(elapsedMs / 100)),
          })),
          screen,
        ),
      );
      await host.ready({ withinMs, signal: context.signal }).finally(() => {
        stop();
        void events.return?.();
      });
    }
    return rowsOf(host, ({ name }) => silentRow(name, withinMs, outputs.get(name)));
  };
  const rows = await withHost(context, entries, look, { isQuiet: true, showsStarts: screen.isTerminal });
  // If no server is listed, the notes explain why.
  const problems = [...errors.map(({ message }) => message), ...(rows.length === 0 ? notes : [])];
  return {
    value: { servers: rows, problems, shadowed: shadowed.length },
    text() {
      if (rows.length === 0 && problems.length === 0) {
        return `No servers are configured for ${system.cwd}.\n  ${screen.mark("next")} ${screen.step("portolan add --help")}`;
      }
      const shownProblems = problems.map(
        (problem) => `  ${screen.style("red", screen.mark("bad"))} ${wrapped(problem, screen)}`,
      );
      if (rows.length === 0)
        return [...shownProblems, `  ${screen.mark("next")} ${screen.step("portolan doctor")}`].join("\n");
      const unused = shadowed.map(({ used: first, shadowed: hidden }) => {
        const [place, instead] = [hidden, first].map(({ source }) => shortPath({ source }, system));
        const why = `${hidden.name} in ${place} is not used: ${instead} has ${hidden.name} too, and comes first`;
        return `  ${screen.style("dim", `${screen.mark("dot")} ${wrapped(why, screen)}`)}`;
      });
      const besides =
        others.length === 0
          ? []
          : [
              `  ${screen.style("dim", `${screen.mark("dot")} ${wrapped(`kept running besides: ${others.join(", ")}`, screen)}`)}`,
              `  ${screen.mark("next")} ${screen.step("portolan up")}`,
            ];
      return [...tableOf(rows, screen), ...unused, ...shownProblems, ...besides].join("\n");
    },
  };
}

/** Ends the process of a server soon after the list: one that does not answer would delay the end of the command. */
function endSoon<T extends ServerEntry>(entry: T): T {
  return "command" in entry.target ? { ...entry, target: { ...entry.target, graceMs: 300 } } : entry;
}

/** Draws the table until the servers have answered. Returns the function that removes it. */
function showLive(
  { isJson, screen, terminal }: CommandContext,
  draw: (elapsedMs: number) => readonly string[],
): () => void {
  if (isJson || !screen.isTerminal) return () => {};
  return terminal.waits.draw((elapsedMs) => {
    const lines = draw(elapsedMs);
    // A table that does not fit cannot be redrawn in place.
    const isWhole = lines.length < terminal.rows;
    return isWhole ? lines : [`${terminal.waits.spinner} starting servers ${durationOf(elapsedMs)}`];
  });
}

/** Returns the table of servers, and the next steps that do not fit into it. */
function tableOf(rows: readonly ServerRow[], screen: Screen): string[] {
  const head = ["server", "from", "state", "tools"].map((title) => screen.style("dim", title));
  const names = rows.map(({ name }) => screen.cut(screen.safe(name), maxNameWidth));
  const steps = rows.map(({ next }) => (next === undefined ? "" : `${screen.mark("next")} ${screen.step(next)}`));
  // Two columns of indentation, two between columns, and the number of tools at the end.
  const besides = screen.columns - widest(names, 6) - 13;
  const places = rows.map(({ from = "" }) => endOf(screen.safe(from), maxPathWidth, screen));
  const room = besides - widest(places, 4);
  // The next step is never cut: without room beside the state, it moves below the table.
  const fits = (states: readonly StateText[]) => states.every(([word], at) => widthOf(`${word} ${steps[at]}`) <= room);
  const exact = rows.map((row) => describeState(row, screen));
  const states = fits(exact) ? exact : rows.map((row) => shortState(row, screen));
  const isNarrow = !fits(states);
  const table = screen.table(
    [
      head,
      ...rows.map(({ state, tools, problems = [] }, at) => {
        const isWhole = !isIncomplete(problems);
        const colour =
          state === "ready" && isWhole
            ? "green"
            : state === "idle" || state === "disabled" || state === "starting"
              ? "dim"
              : "yellow";
        const [word, detail] = states[at] ?? [state, ""];
        const step = isNarrow ? "" : (steps[at] ?? "");
        const left = room - widthOf(`${word} ${step} `);
        const why = widthOf(detail) <= left || left >= minDetailWidth ? screen.cut(detail, left) : "";
        const says = [screen.style(colour, word), why, step].filter(Boolean).join(" ");
        const count = problems.some(({ list, kind }) => list === "tools" && kind === "failed") ? "?" : String(tools);
        return [names[at] ?? "", places[at] ?? "", says, state === "ready" ? count : ""];
      }),
    ],
    { isTitled: true },
  );
  return [...table.split("\n"), ...(isNarrow ? steps.filter(Boolean).map((step) => `  ${step}`) : [])];
}

/** One long name must leave room for the rest. */
const maxNameWidth = 24;
const maxPathWidth = 20;
/** A reason that is cut to fewer columns explains nothing. */
const minDetailWidth = 24;

/** Wraps text for a terminal. */
function wrapped(text: string, screen: Screen): string {
  const shown = screen.safe(text);
  return screen.isTerminal ? wrap(shown, screen.columns - 4).join("\n    ") : shown;
}

function widest(cells: readonly string[], least: number): number {
  return Math.max(least, ...cells.map(widthOf));
}

/** Cuts a path at its start: its end says more. */
function endOf(path: string, columns: number, screen: Screen): string {
  if (!screen.isTerminal || widthOf(path) <= columns) return path;
  const letters = [...path];
  while (widthOf(letters.join("")) >= columns) letters.shift();
  return `${screen.mark("more")}${letters.join("")}`;
}

/** A server in the list. */
interface ServerRow {
  readonly name: string;
  /** A state of the host, or `silent` for a server that did not answer in time. */
  readonly state: ServerStatus["state"] | "silent";
  readonly from?: string;
  readonly tools?: number;
  readonly detail?: string;
  readonly next?: string;
  readonly problems?: readonly Pick<ListProblem, "list" | "kind" | "message">[];
  readonly isChanged?: boolean;
  /** `portolan up` keeps it running. */
  readonly isUp?: boolean;
  /** Shown while the server starts. */
  readonly spinner?: string;
}

const words: { readonly [state: string]: string } = { login: "needs sign-in", untrusted: "not trusted" };

type StateText = readonly [word: string, why: string];

/** Describes a state. The missing variable says more than "misconfigured". */
function describeState(row: ServerRow, screen: Screen): StateText {
  const { state, detail = "" } = row;
  const [missing] = state === "misconfigured" ? (/^missing \$\{[^}]+\}/.exec(detail) ?? []) : [];
  if (missing === undefined) return shortState(row, screen);
  // The column beside it names the file.
  const [place = ""] = /(?<=^ )\(.*?(?= in )/.exec(detail.slice(missing.length)) ?? [];
  return [screen.safe(missing), place === "" ? "" : screen.safe(`${place})`)];
}

function shortState({ state, detail = "", isChanged, isUp, spinner }: ServerRow, screen: Screen): StateText {
  if (isUp && (state === "ready" || state === "idle")) return ["ready (up)", screen.safe(detail)];
  if (isChanged) return ["changed since trusted", ""];
  if (spinner !== undefined) return [`${spinner} ${state}`, detail];
  return [words[state] ?? state, words[state] === undefined ? screen.safe(detail) : ""];
}

/** Describes a server that did not answer in time. The last line of its output may tell why. */
function silentRow(name: string, withinMs: number, output = ""): ServerRow {
  const said = output.trim() === "" ? "" : `; its last output: ${output.trim()}`;
  const detail = `no answer within ${withinMs / 1_000} s${said}`;
  return { name, state: "silent", detail, next: `portolan doctor ${quote(name)}` };
}

/** Describes a server: its state, and the next command. */
function describe(status: ServerStatus): ServerRow {
  const { name, state, reason, profile, startMs, listProblems = [], isChanged = false } = status;
  const problems = listProblems.map(({ list, kind, message }) => ({ list, kind, message }));
  const failed = problems.find(({ kind }) => kind === "failed");
  const ready = profile && `${profile.info?.name ?? ""} ${profile.version} ${startMs ?? 0} ms`.trim();
  const next: { readonly [state: string]: string } = {
    login: `portolan login ${quote(name)}`,
    untrusted: `portolan trust ${quote(name)}`,
    down: `portolan doctor ${quote(name)}`,
    misconfigured: `portolan doctor ${quote(name)}`,
    unresponsive: `portolan doctor ${quote(name)}`,
    ...(isIncomplete(problems) && { ready: `portolan doctor ${quote(name)}` }),
  };
  const problem = failed?.message ?? reason;
  const detail = problem === undefined ? (state === "ready" ? ready : undefined) : firstLine(problem);
  return {
    name,
    state,
    ...(detail !== undefined && { detail }),
    ...(next[state] !== undefined && { next: next[state] }),
    ...(problems.length > 0 && { problems }),
    ...(isChanged && { isChanged }),
  };
}

/** Returns true if features cannot be used. A method that is missing, or a name that is listed twice, is no such problem. */
function isIncomplete(problems: readonly Pick<ListProblem, "kind">[]): boolean {
  return problems.some(({ kind }) => kind !== "unsupported" && kind !== "repeated");
}

function firstLine(text: string): string {
  return withoutOptionNames(text.split("\n", 1)[0] ?? "");
}

/** Returns the path of the configuration file, relative or with `~`. */
function shortPath({ source }: Pick<ServerStatus, "source">, { cwd, home }: { cwd: string; home: string }): string {
  if (source.kind !== "file") return "";
  const { file } = source;
  const near = relative(cwd, file);
  if (!near.startsWith("..")) return near;
  return file.startsWith(home) && dirname(home) !== home ? `~${file.slice(home.length)}` : file;
}
