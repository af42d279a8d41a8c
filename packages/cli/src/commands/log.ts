import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ActivityEntry, ActivityKind, ActivityLog, ActivityQuery } from "portolan-host";
import { countFlag, listFlag, textFlag } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { detailsOf, isOrdinaryState, subjectOf } from "../output/activity.ts";

const defaultLimit = 50;
const followMs = 250;
/** The name of an entry about a repaired log. */
const repairEntry = "activity-mended";

/** Prints the activity log, one entry per line. */
export async function run(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const log = await context.state.activity();
  try {
    if (flags["verify"] === true) return await verify(context, log);
    const query = queryOf(flags);
    const limit = countFlag(flags, "limit") ?? defaultLimit;
    const latest: ActivityEntry[] = [];
    for await (const entry of log.query({ ...query, newestFirst: true })) {
      if (isNoise(context, entry, query)) continue;
      latest.push(entry);
      if (latest.length === limit) break;
    }
    for (const entry of latest.reverse()) show(context, entry);
    if (flags["follow"] === true) await follow(context, log, query, latest.at(-1)?.seq);
    else if (latest.length === 0 && !context.isJson) context.print("No entries.");
    return undefined;
  } finally {
    await log.close();
  }
}

async function verify({ screen }: CommandContext, log: ActivityLog): Promise<CommandResult> {
  const verdict = await log.verify();
  if (!verdict.ok) {
    const { at, reason } = verdict;
    throw new Failure("failed", `the log was changed: ${at.part}, line ${at.line}: ${reason}`, {
      next: "keep a copy of the file, and find out who can write to it",
    });
  }
  // A damaged end is set aside when the log is opened, and nothing else reports it here.
  let repairs = 0;
  for await (const { name } of log.query({ kinds: ["error"], text: repairEntry }))
    if (name === repairEntry) repairs += 1;
  const ok = `${screen.style("green", screen.mark("ok"))} ${verdict.entries} entries in ${verdict.blocks} blocks are unchanged; head ${verdict.head}`;
  const times = repairs === 1 ? "once" : `${repairs} times`;
  const warning = `${screen.style("yellow", screen.mark("warn"))} the end of the log was damaged and set aside ${times}`;
  return {
    value: { ...verdict, mended: repairs },
    text: () =>
      repairs === 0 ? ok : `${ok}\n${warning}\n  ${screen.mark("next")} ${screen.step("portolan log --kind error")}`,
  };
}

/** Prints new entries until Ctrl-C. */
async function follow(context: CommandContext, log: ActivityLog, query: ActivityQuery, last = 0): Promise<void> {
  const { signal, state } = context;
  const file = join(state.folder, "activity.ndjson");
  let seen = last;
  let size = -1;
  while (!signal.aborted) {
    const grown = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (grown !== size) {
      size = grown;
      const fresh: ActivityEntry[] = [];
      for await (const entry of log.query({ ...query, newestFirst: true })) {
        if (entry.seq <= seen) break;
        fresh.push(entry);
      }
      for (const entry of fresh.toReversed()) if (!isNoise(context, entry, query)) show(context, entry);
      seen = fresh[0]?.seq ?? seen;
    }
    await pause(followMs, undefined, { signal }).catch(() => {});
  }
}

/** True for the ordinary states of servers, which a person sees only with `--kind server`. JSON has all entries. */
function isNoise({ isJson }: CommandContext, entry: ActivityEntry, { kinds }: ActivityQuery): boolean {
  return !isJson && !kinds?.includes("server") && isOrdinaryState(entry);
}

function queryOf(flags: Flags): ActivityQuery {
  const kinds = listFlag(flags, "kind");
  const server = textFlag(flags, "server");
  const text = textFlag(flags, "text");
  const since = textFlag(flags, "since");
  const unknown = kinds.find((kind) => !Object.hasOwn(colours, kind));
  if (unknown !== undefined) {
    const known = Object.keys(colours).join(", ");
    throw new Failure("usage", `--kind: expected one of ${known}, got ${JSON.stringify(unknown)}`);
  }
  return {
    ...(kinds.length > 0 && { kinds: kinds as ActivityKind[] }),
    ...(server !== undefined && { server }),
    ...(text !== undefined && { text }),
    ...(since !== undefined && { since: timeOf(since) }),
  };
}

const units: { readonly [unit: string]: number } = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a time, or a duration before now. */
function timeOf(given: string): Date {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(given) ?? [];
  const time = count === undefined ? Date.parse(given) : Date.now() - Number(count) * (units[unit] ?? 0);
  if (!Number.isNaN(time)) return new Date(time);
  throw new Failure("usage", `--since: expected a time, or 30m, 2h, 7d, got ${JSON.stringify(given)}`);
}

const colours: { readonly [kind in ActivityKind]: "green" | "yellow" | "red" | "cyan" | "dim" } = {
  server: "dim",
  trust: "yellow",
  decision: "yellow",
  call: "cyan",
  result: "green",
  resource: "cyan",
  prompt: "cyan",
  question: "yellow",
  answer: "yellow",
  sampling: "yellow",
  roots: "yellow",
  definition: "red",
  grant: "yellow",
  app: "cyan",
  error: "red",
};

/** All kinds of entries. */
export const kinds: readonly string[] = Object.keys(colours);

function show({ screen, isJson, print }: CommandContext, entry: ActivityEntry): void {
  if (isJson) {
    print(JSON.stringify(entry));
    return;
  }
  const { at, kind } = entry;
  const rest = detailsOf(entry);
  // On a narrow terminal, details get a line of their own.
  const isNarrow = screen.isTerminal && screen.columns < 72;
  const line = [
    screen.style("dim", at.slice(0, 19).replace("T", " ")),
    screen.style(colours[kind] ?? "dim", isNarrow ? kind : kind.padEnd(10)),
    screen.safe(subjectOf(entry)),
  ];
  const details = screen.style("dim", screen.safe(rest));
  if (!isNarrow) line.push(details);
  print(screen.cut(line.join(" ").trimEnd()));
  if (isNarrow && rest !== "") print(screen.cut(`  ${details}`));
}
