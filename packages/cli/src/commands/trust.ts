import { type ChangedDefinition, type Host, renderChanges, type ServerEntry } from "portolan-host";
import { confirm, grantDays, trustDetails } from "../ask/consent.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { fillInputs, findByName } from "../servers/find-server.ts";
import { findTrusted, withHost } from "../servers/host.ts";
import { applyTargetFlags } from "../servers/target-flags.ts";
import { quote } from "../terminal/escape.ts";
import { stopWarmTrusted } from "../warm/warm-entry.ts";

/** Allows a configured server to start, or accepts its changed definitions. */
export async function run(
  context: CommandContext,
  [name = ""]: readonly string[],
  flags: Flags,
): Promise<CommandResult> {
  const found = await fillInputs(context, await findByName(context, name));
  const entry = await applyTargetFlags(context, found, { timeout: flags["timeout"] });
  return withHost(context, [entry], (host) => {
    if (flags["revoke"] === true) return revoke(context, host, entry);
    return flags["changes"] === true ? accept(context, host, name, flags) : allow(context, host, entry, flags);
  });
}

async function allow(context: CommandContext, host: Host, entry: ServerEntry, flags: Flags): Promise<CommandResult> {
  const { screen } = context;
  const { name, problem } = entry;
  const hints = flags["hints"] === true;
  if (problem !== undefined)
    throw new Failure("usage", `${name}: ${problem}`, { next: `portolan doctor ${quote(name)}` });
  const facts = host.trustSubject(name);
  const subject = facts.lines.map(({ label, value }) => ({ label, value }));
  const changes = facts.previous?.changes ?? [];
  const changed = changes.map(({ label, before = "none", after = "none" }) => `${label}: ${before} → ${after}`);
  const summary =
    changed.length > 0
      ? `changed since you trusted it: ${changed.join(", ")}`
      : subject.map(({ label, value }) => `${label}: ${value}`).join(", ");
  const shown = `${screen.style("bold", screen.safe(name))}\n${trustDetails(facts, screen)}`;
  await requireAgreement(context, flags, {
    what: `${name} needs your agreement before it ${"command" in entry.target ? "starts" : "is used"}`,
    shown,
    summary,
    question: questionOf(entry, hints),
    next: `portolan trust ${quote(name)}${hints ? " --hints" : ""} --yes`,
  });
  await host.trust(name, { allow: true, for: "always", trustHints: hints });
  return {
    value: { name, isTrusted: true, trustsHints: hints, subject, ...(changes.length > 0 && { changes }) },
    text: () => {
      const more = hints ? ", and so are its read-only labels" : "";
      return `${screen.style("green", screen.mark("ok"))} ${screen.safe(name)} is trusted${more}\n  ${screen.mark("next")} ${screen.step(`portolan ls ${quote(name)}`)}`;
    },
  };
}

/** Returns the question with everything that a yes allows. */
function questionOf({ target }: ServerEntry, hints: boolean): string {
  const what = "command" in target ? "Allow it to start" : "Allow connections to it";
  if (!hints) return `${what}, for ${grantDays} days?`;
  return `${what}, and its read-only tools to run without asking (--yes-read-only), for ${grantDays} days?`;
}

async function revoke(context: CommandContext, host: Host, entry: ServerEntry): Promise<CommandResult> {
  const { screen } = context;
  const { name } = entry;
  const trusted = await findTrusted(host, entry);
  const grants = host.grants.list().filter(({ kind, serverDigest }) => kind === "trust" && trusted.has(serverDigest));
  for (const { id } of grants) await host.grants.revoke(id);
  await stopWarmTrusted(context, entry, trusted);
  return {
    value: { name, isTrusted: false, revoked: grants.length },
    text: () =>
      grants.length > 0
        ? `${screen.style("green", screen.mark("ok"))} ${screen.safe(name)} is no longer trusted`
        : `${screen.safe(name)} was not trusted: nothing was revoked`,
  };
}

/** Shows changed definitions and accepts them. */
async function accept(context: CommandContext, host: Host, name: string, flags: Flags): Promise<CommandResult> {
  const { screen } = context;
  await host.start(name);
  const changes = host.changedDefinitions();
  const value = changes.map(({ kind, name: of, diff }) => ({ kind, name: of, diff }));
  if (changes.length === 0) {
    return { value: { name, changes: value, accepted: 0 }, text: () => `${screen.safe(name)}: nothing has changed` };
  }
  const shown = changes.map((change) => showChange(context, change)).join("\n\n");
  const summary = changes.map(({ name: of }) => of).join(", ");
  const next = `portolan trust ${quote(name)} --changes --yes`;
  const what = `changes of ${name} need your agreement`;
  await requireAgreement(context, flags, { what, shown, summary, question: "Accept these changes?", next });
  for (const change of changes) await host.accept(name, change);
  return {
    value: { name, changes: value, accepted: changes.length },
    text: () => `${screen.style("green", screen.mark("ok"))} accepted: ${screen.safe(summary)}`,
  };
}

function showChange({ screen }: CommandContext, { name, diff }: ChangedDefinition): string {
  const lines = screen.safe(renderChanges(diff), { lines: "keep" }).split("\n");
  const coloured = lines.map((line) => {
    if (line.startsWith("- ")) return screen.style("red", line);
    return line.startsWith("+ ") ? screen.style("green", line) : line;
  });
  return [screen.style("bold", screen.safe(name)), ...coloured.map((line) => `  ${line}`)].join("\n");
}

interface Confirmation {
  readonly what: string;
  readonly shown: string;
  readonly summary: string;
  readonly question: string;
  readonly next: string;
}

/** Resolves when the person agrees. Without a terminal, only `--yes` agrees. */
async function requireAgreement(
  context: CommandContext,
  flags: Flags,
  { what, shown, summary, question, next }: Confirmation,
): Promise<void> {
  if (flags["yes"] === true) return;
  if (!context.screen.isInteractive)
    throw new Failure("denied", `${what}, but there is no terminal: ${summary}`, { next });
  context.system.stderr.write(`${shown}\n`);
  if (!(await confirm(context, question))) throw new Failure("denied", "nothing was changed");
}
