import { dirname, relative } from "node:path";
import type { Host, ServerStatus } from "portolan/host";
import type { Context, Flags, Shown } from "../command.ts";
import { withHost } from "../hosting.ts";
import { quote } from "../quote.ts";
import { widthOf } from "../screen.ts";
import { readMachine } from "../targets.ts";

/** Shows every server that is configured here, and how each is doing. */
export async function run(context: Context, _: readonly string[], { offline = false }: Flags): Promise<Shown> {
  const { screen, world } = context;
  const { entries, errors, shadowed } = await readMachine(context);
  const look = async (host: Host) => {
    if (!offline) await host.ready({ withinMs: 15_000, signal: context.signal });
    return host.servers.map((status) => {
      const tools = host.catalog.tools.filter(({ server }) => server === status.name).length;
      return { ...describe(status), from: placeOf(status, world), tools };
    });
  };
  const rows = await withHost(context, entries, look, { isQuiet: true });
  const problems = errors.map(({ message }) => message);
  return {
    value: { servers: rows, problems, shadowed: shadowed.length },
    text() {
      if (rows.length === 0 && problems.length === 0) {
        return `No servers are configured for ${world.cwd}.\n  ${screen.mark("next")} portolan add <name> -- <command>`;
      }
      const head = ["server", "from", "state", "tools"].map((title) => screen.style("dim", title));
      const widest = (cells: readonly string[]) => Math.max(...cells.map((cell) => widthOf(screen.safe(cell))));
      const taken =
        widest(["server", ...rows.map((row) => row.name)]) + widest(["from", ...rows.map((row) => row.from)]);
      // Two before the line, two between columns, and the number of tools at the end.
      const room = screen.columns - taken - 13;
      const steps = rows.map(({ next }) => (next === undefined ? "" : `${screen.mark("next")} ${screen.safe(next)}`));
      // The next step is never cut: where there is no room beside the state, it stands below.
      const isNarrow = rows.some(({ state }, at) => widthOf(`${words[state] ?? state} ${steps[at]}`) > room);
      const table = screen.table([
        head,
        ...rows.map(({ name, from, state, detail, tools }, at) => {
          const colour = state === "ready" ? "green" : state === "idle" || state === "disabled" ? "dim" : "yellow";
          const word = words[state] ?? state;
          const step = isNarrow ? "" : (steps[at] ?? "");
          const left = room - widthOf(`${word} ${step} `);
          const says = [
            screen.style(colour, word),
            detail && state !== "login" && left > 9 && screen.cut(screen.safe(detail), left),
            step,
          ];
          return [
            screen.safe(name),
            screen.safe(from),
            says.filter(Boolean).join(" "),
            state === "ready" ? String(tools) : "",
          ];
        }),
      ]);
      return [
        table,
        ...(isNarrow ? steps.filter(Boolean).map((step) => `  ${step}`) : []),
        ...problems.map((problem) => `  ${screen.style("red", screen.mark("bad"))} ${screen.safe(problem)}`),
      ].join("\n");
    },
  };
}

const words: { readonly [state: string]: string } = { login: "needs login", untrusted: "not trusted" };

/** A state in words, and the command that leads on. */
function describe({ name, state, reason, profile, startMs }: ServerStatus) {
  const ready = profile && `${profile.info?.name ?? ""} ${profile.version} ${startMs ?? 0} ms`.trim();
  const next: { readonly [state: string]: string } = {
    login: `portolan login ${quote(name)}`,
    untrusted: `portolan trust ${quote(name)}`,
    down: `portolan doctor ${quote(name)}`,
    misconfigured: `portolan doctor ${quote(name)}`,
  };
  return {
    name,
    state,
    ...(state === "ready" ? { detail: ready } : reason !== undefined && { detail: reason.split("\n")[0] }),
    ...(next[state] !== undefined && { next: next[state] }),
  };
}

/** The file an entry is from, as short as it can be said. */
function placeOf({ source }: ServerStatus, { cwd, home }: { cwd: string; home: string }): string {
  if (source.kind !== "file") return "";
  const { file } = source;
  const near = relative(cwd, file);
  if (!near.startsWith("..")) return near;
  return file.startsWith(home) && dirname(home) !== home ? `~${file.slice(home.length)}` : file;
}
