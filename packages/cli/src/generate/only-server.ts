import { basename, dirname, isAbsolute, relative } from "node:path";
import type { ServerTarget } from "portolan-host";
import { commands } from "../command-table.ts";
import { describedRows } from "../output/described-rows.ts";
import type { System } from "../system.ts";
import { quote } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";
import { wrap } from "../terminal/wrap.ts";
import { version } from "../version.ts";

/** The server of a command that `gen cli` wrote, and what its help says. */
export interface GeneratedServer {
  readonly name: string;
  readonly version: string;
  readonly target: ServerTarget;
  readonly tools: readonly { readonly name: string; readonly about: string }[];
  /** Variables of the environment that the target reads. */
  readonly variables?: readonly string[];
}

/** The server of the running command. */
export interface OnlyServer extends GeneratedServer {
  /** The words that start this command in a shell. */
  readonly program: string;
}

/** Adds the words that start this command: its name if the shell finds it, otherwise its path. */
export function toOnlyServer(server: GeneratedServer, { self, cwd, env, platform }: System): OnlyServer {
  const folders = (env["PATH"] ?? "").split(platform === "win32" ? ";" : ":");
  const near = relative(cwd, self);
  const path = near.startsWith("..") || isAbsolute(near) ? self : `./${near}`;
  return { ...server, program: quote(folders.includes(dirname(self)) ? basename(self) : path) };
}

/** Flags of the command that stand for another command of ours. */
const verbs: { readonly [flag: string]: string } = { "--list": "ls", "--read": "read", "--prompt": "prompt" };

/** Converts the arguments of a command for one server to ours; undefined for help, a text for the version. */
export function toOwnArguments(argv: readonly string[], only: OnlyServer): readonly string[] | string | undefined {
  const [first] = argv;
  // Processes that this program starts from its own file.
  if (commands.some(({ name, isHidden }) => isHidden && name === first)) return argv;
  if (first === "--version" || first === "-V") return `${only.name} ${only.version} (portolan ${version})`;
  const verb = argv.find((word) => Object.hasOwn(verbs, word));
  if (verb !== undefined) return [verbs[verb] ?? "", ...argv.filter((word) => word !== verb)];
  if (argv.includes("--login") && "url" in only.target) return ["login", only.target.url];
  const at = argv.findIndex((word) => !word.startsWith("-"));
  if (at < 0) return undefined;
  // The tool comes first, so that `--help` behind it is about the tool.
  return ["call", argv[at] ?? "", ...argv.slice(0, at), ...argv.slice(at + 1)];
}

/** Formats the help of a command for one server. */
export function helpOf({ name, program, version: own, tools, target }: OnlyServer, screen: Screen): string {
  const command = screen.safe(program);
  const rows = tools.map((tool) => [screen.safe(tool.name), screen.safe(tool.about)]);
  const options = [
    ["--list", "List what the server offers now."],
    ["--read <uri>", "Read a resource."],
    ["--prompt <name>", "Get a prompt."],
    ...("url" in target ? [["--login", "Sign in."]] : []),
    ["--json", "Print JSON, as in a pipe."],
    ["--no-color", "Print without colours."],
    ["-V, --version", "Show the version."],
  ];
  const note =
    "Arguments are key=value with the type from the tool's schema, key:=json, a JSON object, or - to read one from standard input.";
  return [
    ...wrap(`Usage: ${command} <tool> [arguments...]`, screen.columns - 2),
    ...wrap(`       ${command} <tool> --help`, screen.columns - 2),
    "",
    `Tools of ${screen.safe(name)} ${screen.safe(own)}:`,
    describedRows(rows, screen),
    "",
    "Options:",
    describedRows(options, screen),
    "",
    ...wrap(note, screen.columns - 2),
  ].join("\n");
}

/** Returns the variables that the command reads, and that are not set. */
export function unsetVariables({ variables = [] }: OnlyServer, { env }: System): readonly string[] {
  return variables.filter((name) => !env[name]);
}

/** Returns the next step of a failure for a command of one server; undefined if that command cannot do it. */
export function nextStepOf(next: string, { program }: OnlyServer): string | undefined {
  if (/^portolan (?:ls|call|read|prompt)\b/.test(next)) return `${program} --help`;
  if (next.startsWith("portolan login ")) return `${program} --login`;
  return next.startsWith("portolan ") ? undefined : next;
}
