import { SkillError } from "portolan/client/skills";
import type { Host, HostSkill, LoadedSkill, ServerEntry } from "portolan-host";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure, toFailure } from "../failure.ts";
import { describedRows } from "../output/described-rows.ts";
import { findTarget, suggest, targetArgument } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { quote } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";

/** A server and the words that follow it. */
interface Asked {
  readonly host: Host;
  readonly entry: ServerEntry;
  readonly context: CommandContext;
  readonly skill: string | undefined;
  readonly file: string | undefined;
}

const actions: { readonly [name: string]: (asked: Asked) => Promise<CommandResult> } = { ls: list, show, verify };

/** Lists the skills of a server, shows one, or verifies their files. */
export async function run(
  context: CommandContext,
  [name = "", ...args]: readonly string[],
  flags: Flags,
): Promise<CommandResult> {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action) {
    const got = name === "" ? "nothing" : JSON.stringify(name);
    throw new Failure("usage", `skills: expected ls, show or verify, got ${got}`, { next: "portolan skills --help" });
  }
  const hasCommand = context.command.length > 0;
  const [given, ...words] = hasCommand ? [undefined, ...args] : args;
  const { entry, member } = await findTarget(context, given, flags);
  const [skill, file] = member === undefined ? words : [member, ...words];
  // Not a warm server: its proxy passes on the methods of the protocol only.
  return withHost(context, [entry], async (host) => {
    await host.start(entry.name);
    return action({ host, entry, context, skill, file });
  });
}

async function list({ host, entry, context }: Asked): Promise<CommandResult> {
  const { screen } = context;
  const { skills, problems } = await host.skills.list({ server: entry.name, signal: context.signal });
  return {
    value: {
      skills: skills.map(({ label, skill }) => ({ label, ...skill })),
      ...(problems.length > 0 && { problems: problems.map(({ message }) => message) }),
    },
    failure: problems.length > 0 ? invalidEntries(problems.map(({ message }) => message)) : undefined,
    text() {
      const [first] = skills;
      if (!first) return `${screen.safe(entry.name)} lists no skills.`;
      const rows = skills.map(({ label, skill }) => [
        screen.safe(label),
        `${screen.safe(skill.frontmatter.description)} ${screen.style("dim", `(${sizeOf(skill)})`)}`,
      ]);
      const next = showCommand(context, entry, first.label);
      return `${describedRows(rows, screen)}\n\n  ${screen.mark("next")} ${screen.step(next)}`;
    },
  };
}

async function show(asked: Asked): Promise<CommandResult> {
  const { host, entry, context, file } = asked;
  const { screen, signal } = context;
  const uri = await uriOf(asked);
  const loaded = await host.skills.load(entry.name, uri, { by: "user", signal });
  if (file !== undefined) {
    const read = await host.skills.read(loaded, file, { by: "user", signal }).catch((reason: unknown) => {
      if (!(reason instanceof SkillError) || reason.mismatch !== "unlisted") throw reason;
      const known = filesOf(loaded).map((uri) => uri.slice(loaded.skill.uri.lastIndexOf("/") + 1));
      const some = screen.safe(suggest(file, known, showCommand(context, entry, loaded.skill.frontmatter.name)));
      throw new Failure("usage", `the skill has no file ${JSON.stringify(file)}; ${some}`);
    });
    const { text, bytes, mimeType, isVerified } = read;
    const content = text === undefined ? { blob: Buffer.from(bytes).toString("base64") } : { text };
    return {
      value: { uri: read.uri, ...(mimeType !== undefined && { mimeType }), isVerified, ...content },
      plain: () => plainText(text, file),
      text: () =>
        text === undefined
          ? screen.style("dim", `[${screen.safe(mimeType ?? "bytes")}, ${bytes.length} bytes]`)
          : screen.safe(text, { lines: "keep" }),
    };
  }
  const { skill, text, isVerified } = loaded;
  return {
    value: { ...skill, text, isVerified },
    plain: () => text,
    text: () => [heading(loaded, screen), "", screen.safe(loaded.body.trim(), { lines: "keep" })].join("\n"),
  };
}

/** Shows what a user needs to judge a skill: whose it is, what it claims, and its files. */
function heading({ server, skill, isVerified }: LoadedSkill, screen: Screen): string {
  const { name, description, ...others } = skill.frontmatter;
  const state = isVerified
    ? screen.style("green", "verified")
    : screen.style("yellow", "dynamic: it cannot be verified");
  const files = skill.resources === "dynamic" ? [] : skill.resources;
  const rows = [
    ["skill", `${screen.style("bold", screen.safe(name))} of ${screen.safe(server)}, ${state}`],
    ["address", screen.safe(skill.uri)],
    ["about", screen.safe(description)],
    ...Object.entries(others).map(([key, value]) => [screen.safe(key), screen.safe(JSON.stringify(value))]),
    ...files.map(({ uri, size }, at) => [
      at === 0 ? "files" : "",
      `${screen.safe(uri)} ${screen.style("dim", `${size} bytes`)}`,
    ]),
  ];
  return describedRows(rows, screen);
}

/** The result of verifying one skill. */
interface Verified {
  readonly uri: string;
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
  readonly isDynamic: boolean;
  readonly problems: readonly string[];
}

async function verify(asked: Asked): Promise<CommandResult> {
  const { host, entry, context, skill } = asked;
  const { screen, signal } = context;
  const { skills, problems: invalid } = await host.skills.list({ server: entry.name, signal });
  const wanted = skill === undefined ? skills.map(({ skill: { uri } }) => uri) : [await uriOf(asked)];
  const results: Verified[] = [];
  for (const uri of wanted) {
    const listed = skills.find((one) => one.skill.uri === uri);
    results.push(await verifyOne(asked, uri, listed));
  }
  const unlisted = skill === undefined ? invalid.map(({ message }) => message) : [];
  const bad = results.filter(({ problems }) => problems.length > 0);
  const count = bad.length + unlisted.length;
  return {
    value: { skills: results, ...(unlisted.length > 0 && { problems: unlisted }) },
    failure:
      count === 0
        ? undefined
        : new Failure(
            "protocol",
            `${count} of ${results.length + unlisted.length} skills are not what their entries say`,
          ),
    text() {
      if (results.length + unlisted.length === 0) return `${screen.safe(entry.name)} lists no skills.`;
      const lines = results.flatMap(({ name, files, bytes, isDynamic, problems }) => {
        const isOk = problems.length === 0;
        const mark = isOk ? screen.style("green", screen.mark("ok")) : screen.style("red", screen.mark("bad"));
        const what = isDynamic
          ? "dynamic: nothing but its frontmatter can be verified"
          : `${files} files, ${bytes} bytes`;
        return [`${mark} ${screen.safe(name)}  ${what}`, ...problems.map((problem) => `    ${screen.safe(problem)}`)];
      });
      const others = unlisted.map((message) => `${screen.style("red", screen.mark("bad"))} ${screen.safe(message)}`);
      return [...lines, ...others].join("\n");
    },
  };
}

/** Reads every file of a skill. A file that fails does not keep the others from being verified. */
async function verifyOne(
  { host, entry, context }: Asked,
  uri: string,
  listed: HostSkill | undefined,
): Promise<Verified> {
  const { signal } = context;
  const problems: string[] = [];
  const note = (reason: unknown) => {
    signal.throwIfAborted();
    problems.push(toFailure(reason).message);
  };
  const loaded = await host.skills.load(entry.name, uri, { by: "user", signal }).catch(note);
  const skill = loaded?.skill ?? listed?.skill;
  const files = skill && skill.resources !== "dynamic" ? skill.resources : [];
  if (loaded && listed && JSON.stringify(loaded.skill) !== JSON.stringify(listed.skill)) {
    problems.push("skills/get returns another entry than skills/list");
  }
  for (const file of files) {
    if (loaded && file.uri !== uri) await host.skills.read(loaded, file.uri, { by: "user", signal }).catch(note);
  }
  return {
    uri,
    name: listed?.label ?? skill?.frontmatter.name ?? uri,
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    isDynamic: skill?.resources === "dynamic",
    problems,
  };
}

/** Returns the URI of the skill that a person named. */
async function uriOf({ host, entry, context, skill }: Asked): Promise<string> {
  const next = `portolan skills ls ${targetArgument(entry, context.system)}`;
  if (skill?.includes("://")) return skill;
  const { skills } = await host.skills.list({ server: entry.name, signal: context.signal });
  const labels = skills.map(({ label }) => label);
  const named = skills.filter((one) => one.label === skill || one.skill.frontmatter.name === skill);
  const [only] = named;
  if (only && named.length === 1) return only.skill.uri;
  const known = labels.length > 0 ? context.screen.safe(suggest(skill, labels, next)) : "the server lists none";
  if (skill === undefined) throw new Failure("usage", `no skill given; ${known}`, { next });
  const same = context.screen.safe(named.map(({ label }) => label).join(", "));
  const [count, advice] = named.length > 1 ? ["several skills", `use one of ${same}`] : ["no skill", known];
  throw new Failure("usage", `${entry.name} has ${count} ${JSON.stringify(skill)}; ${advice}`, { next });
}

/** Returns the command that shows a skill of the server. */
function showCommand({ command, system }: CommandContext, entry: ServerEntry, name: string): string {
  const words = [targetArgument(entry, system), quote(name)];
  const [one, two] = command.length > 0 ? words.toReversed() : words;
  return `portolan skills show ${one} ${two}`;
}

function filesOf({ skill: { resources } }: LoadedSkill): string[] {
  return resources === "dynamic" ? [] : resources.map(({ uri }) => uri);
}

function plainText(text: string | undefined, file: string): string {
  if (text !== undefined) return text;
  throw new Failure("usage", `${file} is not text`, { next: "add --json for its bytes in base64" });
}

function invalidEntries(messages: readonly string[]): Failure {
  return new Failure("protocol", messages.join("; "));
}

function sizeOf({ resources }: HostSkill["skill"]): string {
  if (resources === "dynamic") return "dynamic";
  return resources.length === 1 ? "1 file" : `${resources.length} files`;
}
