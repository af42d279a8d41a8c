import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ProcessEnd } from "portolan/client/stdio";
import type { CommandTarget, ServerEntry } from "portolan-host";
import { isOwnFile, targetArgument } from "../servers/find-server.ts";
import type { System } from "../system.ts";
import { isSecretName, quote, quoteCommand } from "../terminal/escape.ts";
import { entryLocation, type FindingDetails } from "./finding.ts";

/** Explains why a command does not start or does not answer. */
export function explainCommand(
  entry: ServerEntry,
  target: CommandTarget,
  failure: { readonly message: string; readonly processEnd: ProcessEnd | undefined },
  system: System,
): FindingDetails {
  const { message } = failure;
  const { kind, ending = "", said = "" } = failure.processEnd ?? {};
  if (kind === "not-started") {
    return {
      id: "wrong-command",
      level: "error",
      what: `its command ${JSON.stringify(target.command)} cannot be started`,
      why: said,
      next: suggest(entry, target, system),
    };
  }
  // The words of the server itself, which has no other way to tell.
  if (/EADDRINUSE|address already in use/i.test(said)) {
    const which = /(?::|', |port[ =:]+)(\d{2,5})\b/i.exec(said)?.[1];
    return {
      id: "port-in-use",
      level: "error",
      what: which === undefined ? "the port it listens on is in use" : `the port ${which} is in use`,
      why: `it ${ending}: ${said}`,
      next: `find the program that uses it (${whoHas(which, system)}) and stop it, or give the server another port`,
    };
  }
  if (kind === "ended") {
    const variable = missingPackage.test(said) ? undefined : variableIn(said);
    return {
      id: "command-exits",
      level: "error",
      what: `its command ${ending}`,
      why: said === "" ? "it wrote nothing to standard error" : `its last output: ${said}`,
      next: nextAfter(said, entry, target, system),
      ...(variable !== undefined && {
        repair: { kind: "variable", name: variable, isSecret: isSecretName(variable) },
      }),
    };
  }
  return {
    id: "command-fails",
    level: "error",
    what: "its command runs, but does not answer like a server",
    why: message,
    next: `run it by hand: ${typed(entry, target, system)}`,
  };
}

function whoHas(port: string | undefined, { platform }: System): string {
  if (platform === "win32") return `netstat -ano | findstr :${port ?? ""}`;
  return `lsof -i :${port ?? "<port>"}`;
}

/** Returns the command line of a server. A server file is run by this command, however it is written. */
function typed(entry: ServerEntry, { command, args = [] }: CommandTarget, system: System): string {
  if (args[0] !== system.self) return quoteCommand([command, ...args]);
  return `portolan serve --stdio ${targetArgument(entry, system)}`;
}

/** The words of a server that lacks a package, or a value in its environment. */
const missingPackage = /cannot find (module|package)|ModuleNotFoundError|No module named/i;
const missingValue = /api.?key|token|credential|environment variable|not set/i;

/** Returns the variable that a server says it needs. */
function variableIn(words: string): string | undefined {
  return missingValue.test(words) ? /\b[A-Z][A-Z\d]*_[A-Z\d_]+\b/.exec(words)?.[0] : undefined;
}

function nextAfter(words: string, entry: ServerEntry, target: CommandTarget, system: System): string {
  const { name, source } = entry;
  if (missingPackage.test(words)) return "install its packages, or correct the path in its arguments";
  if (missingValue.test(words)) {
    const variable = variableIn(words) ?? "NAME";
    const flag = `--env ${variable}=…`;
    if (source.kind === "code")
      return `it seems to need a variable: portolan ls ${flag} ${targetArgument(entry, system)}`;
    const force = isOwnFile(source) ? "" : " --force";
    return `it seems to need a variable: portolan add${force} ${quote(name)} ${flag}`;
  }
  return `run it by hand to see more: ${typed(entry, target, system)}`;
}

/** Programs that are scripts on Windows, where only a shell finds them without their extension. */
const scripts = new Set(["npx", "npm", "pnpm", "yarn", "bunx", "tsx"]);

function suggest(entry: ServerEntry, { command }: CommandTarget, system: System): string {
  const at = entryLocation(entry);
  if (system.platform === "win32" && scripts.has(command)) return `write ${command}.cmd as the command, at ${at}`;
  if (/\s/.test(command.trim()) && !existsSync(command)) {
    const [program, ...args] = command.trim().split(/\s+/);
    return `write ${JSON.stringify(program)} as the command and ${JSON.stringify(args)} as args, at ${at}`;
  }
  const found = foldersOf(system)
    .map((folder) => join(folder, command))
    .find((path) => existsSync(path));
  if (found !== undefined) return `it is at ${found}, which is not on the PATH: write that as the command, at ${at}`;
  return `install ${command}, or write its full path, at ${at}`;
}

/** Returns folders with programs that an editor, started without a shell, does not find. */
function foldersOf({ home, execPath }: System): string[] {
  const own = [".local/bin", ".cargo/bin", ".bun/bin", ".deno/bin", ".volta/bin", "bin"].map((path) =>
    join(home, path),
  );
  return [...own, "/usr/local/bin", "/opt/homebrew/bin", dirname(execPath)];
}
