import { dirname, relative } from "node:path";
import type { Host, ServerStatus } from "portolan/host";
import type { Context, Flags, Shown } from "../command.ts";
import { withHost } from "../hosting.ts";
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
      const table = screen.table([
        head,
        ...rows.map(({ name, from, state, detail, tools, next }) => {
          const colour = state === "ready" ? "green" : state === "idle" || state === "disabled" ? "dim" : "yellow";
          const says = [
            screen.style(colour, words[state] ?? state),
            // Where the next step says it all, there must be room for it.
            detail && state !== "login" && screen.safe(detail),
            next && `${screen.mark("next")} ${next}`,
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
    login: `portolan login ${name}`,
    untrusted: `portolan trust ${name}`,
    down: `portolan doctor ${name}`,
    misconfigured: `portolan doctor ${name}`,
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
