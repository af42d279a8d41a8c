import type { ElicitResult } from "portolan";
import { openBrowser } from "portolan/auth/client";
import type {
  ApprovalQuestion,
  ApprovalVerdict,
  Caution,
  PreviousTrust,
  RootsQuestion,
  RootsVerdict,
  SkillAction,
  TrustQuestion,
  TrustSubject,
  TrustVerdict,
  UrlQuestion,
} from "portolan-host";
import type { CommandContext } from "../command.ts";
import { interruption } from "../failure.ts";
import { QuestionDismissed } from "../terminal/input.ts";
import type { Screen } from "../terminal/screen.ts";
import { listOf, widthOf, wrap } from "../terminal/wrap.ts";

const showDefinition = Symbol("show the definition");

/** The host stores answers for this long. */
export const grantDays = 90;
const always = `always (${grantDays} days)`;
export const never: string = `never (${grantDays} days)`;

/** Asks whether the model may call a tool or read a resource. Shows the exact arguments and all warnings. */
export async function askApproval(
  context: CommandContext,
  question: ApprovalQuestion,
  { wasAllowed = false }: { readonly wasAllowed?: boolean } = {},
): Promise<ApprovalVerdict> {
  const { screen, terminal } = context;
  const { server, action, reason, rule, cautions, findings, resembles, isOnce = false } = question;
  if (action.kind === "tool") {
    terminal.heading(
      `${question.by === "app" ? "An app of this server" : "The model"} wants to call `,
      server,
      screen.style("bold", screen.safe(`.${action.tool}`)),
    );
    const { title, description = title } = action.definition;
    if (description !== undefined) terminal.quote(description, 3);
    terminal.say(`  ${screen.style("dim", "with these arguments")}`);
    // Long arguments must not push the question off the screen.
    terminal.bar(screen.json(action.args), Math.max(5, terminal.rows - 12), "; answer v to see them");
  } else if (action.kind === "app") {
    terminal.heading("", server, " wants to show an app:");
    terminal.quote(action.uri);
    for (const warning of action.warnings) terminal.say(`  ${screen.safe(warning)}`);
  } else if (action.kind === "skill") showSkill(context, server, action);
  else {
    terminal.heading("The model wants to read a resource of ", server, ":");
    terminal.quote(action.uri);
  }
  // Without a rule, the reason to ask about a call tells the person nothing.
  const isInformative = reason !== "" && (action.kind === "resource" || rule !== undefined);
  if (isInformative) terminal.say(`  ${screen.style("dim", `${screen.safe(reason)}`)}`);
  if (wasAllowed && cautions.length > 0) {
    const from = listOf([...new Set(cautions.flatMap((caution) => caution.from))], "and");
    const why = `You are asked again: when you allowed it, the conversation had no results of ${screen.safe(from)}.`;
    terminal.say(`  ${screen.style("dim", why)}`);
  }
  for (const text of cautionTexts(cautions)) terminal.warn(text);
  for (const { why, excerpt } of findings) terminal.warn(`${why}: ${excerpt}`);
  if (resembles !== undefined) terminal.warn(`Caution: it looks like ${resembles}, but is a different tool`);
  for (;;) {
    const verdict = await terminal.choose<ApprovalVerdict | typeof showDefinition>([
      { key: "y", word: "yes", label: onceLabels[action.kind], value: { allow: true } },
      ...(isOnce
        ? []
        : [
            { key: "s", word: "session", label: "this session", value: { allow: true, for: "session" } } as const,
            { key: "a", word: "always", label: always, value: { allow: true, for: "always" } } as const,
          ]),
      { key: "n", label: "no", value: { allow: false } },
      ...(isOnce ? [] : [{ key: "N", word: "never", label: never, value: { allow: false, for: "always" } } as const]),
      ...(action.kind === "tool"
        ? [{ key: "v", word: "view", label: "view its definition", value: showDefinition } as const]
        : []),
    ]);
    if (verdict !== showDefinition) return verdict;
    if (action.kind !== "tool") continue;
    terminal.bar(screen.json(action.definition));
    terminal.say(`  ${screen.style("dim", "with these arguments")}`);
    terminal.bar(screen.json(action.args));
  }
}

const onceLabels = { tool: "once", app: "once", resource: "send it this once", skill: "load it this once" } as const;

/** Shows the skill that the model wants, with all its files, and what changed since it was loaded last. */
function showSkill({ screen, terminal }: CommandContext, server: string, { skill, changes }: SkillAction): void {
  const { frontmatter, resources, uri } = skill;
  const name = screen.style("bold", screen.safe(frontmatter.name));
  terminal.heading("The model wants to load a skill of ", server, `: ${name}`);
  terminal.quote(frontmatter.description, 3);
  terminal.quote(uri);
  if (resources === "dynamic") terminal.warn("Its content changes all the time and cannot be verified");
  else {
    const lines = resources.map((file) => `${file.uri.slice(uri.lastIndexOf("/") + 1)} ${file.size} bytes`);
    terminal.say(
      `  ${screen.style("dim", resources.length === 1 ? "its only file" : `its ${resources.length} files`)}`,
    );
    terminal.bar(screen.safe(lines.join("\n"), { lines: "keep" }), Math.max(5, terminal.rows - 14));
  }
  if (!changes) return;
  terminal.warn(`It CHANGED since it was loaded last: ${changes.map((one) => `${one.how} ${one.uri}`).join(", ")}`);
}

/** Returns the cautions as sentences: one if both kinds are about the same servers. */
function cautionTexts(cautions: readonly Caution[]): string[] {
  const textOf = ({ kind, from }: Caution) => {
    const who = listOf(from, "and");
    return kind === "untrusted-content"
      ? `Caution: results of ${who} are in this conversation and may have led to this call`
      : `Caution: this call could pass on what ${who} returned`;
  };
  const texts = cautions.map(textOf);
  const [first, second] = cautions;
  const isSame =
    cautions.length === 2 &&
    first?.kind !== second?.kind &&
    listOf(first?.from ?? [], "and") === listOf(second?.from ?? [], "and");
  if (!isSame || !first) return texts;
  return [
    `Caution: results of ${listOf(first.from, "and")} are in this conversation: they may have led to this call, and it could pass them on`,
  ];
}

/** Asks whether a configured server may be started. Shows everything that its file says, and what changed. */
export async function askTrust(context: CommandContext, { server, subject }: TrustQuestion): Promise<TrustVerdict> {
  const { screen, terminal } = context;
  const { lines, previous } = subject;
  // An address is not started: it is connected to.
  const start = lines.some(({ label }) => label === "Command") ? "Start it?" : "Connect to it?";
  if (!previous) terminal.heading("New server ", server, `. ${start}`);
  else {
    const on = dayOf(previous.trustedAt);
    const isSame = previous.changes.length === 0;
    terminal.heading(
      "Server ",
      server,
      isSame ? ` is no longer trusted. Its entry is unchanged since ${on}.` : ` CHANGED since you trusted it on ${on}:`,
    );
    for (const line of changeLines(previous, screen)) terminal.bar(line);
    terminal.say(`  ${screen.style("dim", `${start} ${isSame ? "Its entry:" : "Its entry now:"}`)}`);
  }
  for (const { label, value } of lines) {
    // A value that does not fit gets lines of its own behind the bar, so that it cannot imitate another label.
    const line = `${label}: ${screen.safe(value)}`;
    if (widthOf(line) <= terminal.columns - 5) terminal.bar(line);
    else {
      terminal.bar(`${label}:`);
      terminal.bar(screen.safe(value));
    }
  }
  return terminal.choose<TrustVerdict>([
    { key: "y", word: "yes", label: "yes, once", value: { allow: true, for: "session" } },
    { key: "a", word: "always", label: always, value: { allow: true, for: "always" } },
    {
      key: "b",
      label: `${always}, and trust its read-only labels`,
      value: { allow: true, for: "always", trustHints: true },
    },
    { key: "n", label: "no", value: { allow: false } },
  ]);
}

/** Asks whether to open an address. Shows all of it, and its host. */
export async function askOpenUrl(
  context: CommandContext,
  { server, params, address }: UrlQuestion,
): Promise<ElicitResult> {
  const { screen, terminal } = context;
  terminal.heading("", server, " wants you to open an address:");
  terminal.quote(params.message);
  terminal.say(`  ${screen.style("dim", "the address")}`);
  terminal.quote(address.href);
  terminal.say(`  ${screen.style("dim", "leads to")} ${screen.style("bold", screen.safe(address.host))}`);
  for (const warning of address.warnings) terminal.warn(warning);
  const chosen = await terminal.choose<"open" | "accept" | "decline">([
    { key: "y", word: "yes", label: "open it", value: "open" },
    { key: "m", word: "myself", label: "I open it myself", value: "accept" },
    { key: "n", label: "no", value: "decline" },
  ]);
  if (chosen !== "open") return { action: chosen };
  try {
    await openBrowser(new URL(address.href));
  } catch (reason) {
    // The person can still open it: the address is on the screen.
    const why = reason instanceof Error ? reason.message : String(reason);
    terminal.warn(`The browser did not open (${why}). Open the address yourself.`);
  }
  return { action: "accept" };
}

/** Asks whether a server may know the folders. */
export async function askRoots(context: CommandContext, { server, roots }: RootsQuestion): Promise<RootsVerdict> {
  const { terminal } = context;
  terminal.heading("", server, " wants to know which folders you work in:");
  for (const { uri } of roots) terminal.quote(uri);
  return terminal.choose<RootsVerdict>([
    { key: "y", word: "yes", label: "this session", value: { allow: true, for: "session" } },
    { key: "a", word: "always", label: always, value: { allow: true, for: "always" } },
    { key: "n", label: "no", value: { allow: false, for: "session" } },
    { key: "N", word: "never", label: never, value: { allow: false, for: "always" } },
  ]);
}

/** Asks a yes-or-no question. Ctrl-D means no, Ctrl-C interrupts the command. */
export function confirm({ screen, terminal, signal }: CommandContext, question: string): Promise<boolean> {
  const answered = terminal.ask(signal, async () => {
    terminal.say(`${screen.style("yellow", screen.mark("ask"))} ${question}`);
    return terminal.choose([
      { key: "y", word: "yes", label: "yes", value: true },
      { key: "n", label: "no", value: false },
    ]);
  });
  return answered.catch((reason: unknown) => {
    if (reason instanceof QuestionDismissed && reason.how === "cancel") throw interruption();
    if (reason instanceof QuestionDismissed) return false;
    throw reason;
  });
}

/** Formats what trusting a server would start, complete and unabridged, after what changed since the last time. */
export function trustDetails({ lines, previous }: TrustSubject, screen: Screen): string {
  const width = Math.max(0, ...lines.map(({ label }) => label.length));
  // The next lines of a long value are indented, so that it cannot imitate another label.
  const room = screen.isTerminal || screen.isInteractive ? screen.columns - width - 5 : Number.POSITIVE_INFINITY;
  const shown = lines.map(({ label, value }) => {
    const pieces = wrap(screen.safe(value), room).join(`\n${" ".repeat(width + 4)}`);
    return `  ${screen.style("dim", label.padEnd(width))}  ${pieces}`;
  });
  if (!previous || previous.changes.length === 0) return shown.join("\n");
  const changes = changeLines(previous, screen).map((line) => `  ${line}`);
  return [`CHANGED since you trusted it on ${dayOf(previous.trustedAt)}:`, ...changes, "now:", ...shown].join("\n");
}

/** Formats the differences: the old line, then the new one. */
function changeLines({ changes }: PreviousTrust, screen: Screen): string[] {
  return changes.flatMap(({ label, before, after }) => [
    ...(before === undefined ? [] : [screen.style("red", `- ${label}: ${screen.safe(before)}`)]),
    ...(after === undefined ? [] : [screen.style("green", `+ ${label}: ${screen.safe(after)}`)]),
  ]);
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
