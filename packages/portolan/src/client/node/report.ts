import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { PortolanError } from "../../errors.ts";
import type { CommandTarget } from "../command.ts";
import { createMasker, cut, nameCommand, toVisible } from "./masking.ts";

const maxLines = 5;
/** An error further back is not what ended the server. */
const maxRecent = 12;
const maxLength = 500;
const lookedAt = 16 * 1024;

/** Says how a server ended, and what it had to say last. */
export function endOf(target: CommandTarget, happened: string, stderr: string): PortolanError {
  const last = lastWords(createMasker(target)(stderr.slice(-lookedAt)));
  const message = `The server "${nameCommand(target)}" ${happened}`;
  return new PortolanError("connection-closed", last === "" ? message : `${message}: ${last}`);
}

/** Says why a server could not be started, and what to do. The cause is left out: it lists arguments, secrets among them. */
export function failedStart(target: CommandTarget, cause: unknown): PortolanError {
  const message = `The server "${nameCommand(target)}" could not be started: ${whyNotStarted(target, cause)}`;
  return new PortolanError("connection-closed", message);
}

function whyNotStarted(target: CommandTarget, cause: unknown): string {
  if (cause instanceof PortolanError) return cause.message;
  const { code } = (cause ?? {}) as { code?: unknown };
  const command = cut(toVisible(target.command), 200);
  const isPath = /[\\/]/.test(target.command);
  if (code === "ENOENT" || code === "ENOTDIR") {
    if (target.cwd !== undefined && !existsSync(target.cwd)) {
      return `its working directory ${cut(toVisible(target.cwd), 200)} does not exist; correct cwd`;
    }
    if (!isPath) return `there is no program ${command} on the PATH; install it, or give its full path`;
    return existsSync(resolve(target.cwd ?? ".", target.command))
      ? `${command} names a program in its first line that is not there; install that, or start it with the file`
      : `there is no file ${command}; correct the path`;
  }
  if (code === "EACCES" || code === "EPERM") {
    return `${command} may not be executed; make it executable, or start the program that runs it`;
  }
  if (code === "EMFILE" || code === "ENFILE" || code === "EAGAIN") {
    return `the system has no more processes or open files to give (${code}); end some, or raise the limit`;
  }
  if (code === "E2BIG") return "its arguments and environment are too long; shorten them";
  return `its command, arguments, cwd or environment are not what the system takes (${String(code)})`;
}

/** The lines that tell most: those from the last error on, or simply the last. */
function lastWords(stderr: string): string {
  const lines = stderr.split(/\r?\n/).filter((line) => line.trim() !== "" && !isDecoration(line));
  const recent = lines.slice(-maxRecent);
  const error = recent.findLastIndex((line) => /^\S*(?:error|exception|panic)\S*:?\s/i.test(line));
  const told = error === -1 ? recent.slice(-maxLines) : recent.slice(error, error + maxLines);
  return cut(told.map((line) => toVisible(line.trim())).join(" | "), maxLength);
}

function isDecoration(line: string): boolean {
  return /^\s+at |^Node\.js v\d|^[\s^~}\])]*$/.test(line);
}
