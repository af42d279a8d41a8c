import { PortolanError } from "../errors.ts";
import {
  maxCommandPathChars,
  maxCommandWordChars,
  maxCommandWords,
  maxExitChars,
  maxExitFirstChars,
  maxExitLines,
  maxExitScanChars,
  maxExitScanLines,
} from "./limits.ts";
import type { CommandTarget } from "./options.ts";

// Loaded late, because most servers start, answer and end when they are told to.

/** The standard error of a child: its end, and its beginning if that is no longer part of the end. */
export interface KeptStderr {
  readonly head: string;
  readonly text: string;
}

/** The end of a server's process in parts, for programs that explain it to people. */
export interface ProcessEnd {
  /** `"ended"` includes a process that closed its input or output. */
  readonly kind: "not-started" | "ended";
  /** The command in words, without secrets. */
  readonly command: string;
  /** How it ended: "exited with code 1", "was ended by SIGKILL", "could not be started". */
  readonly ending: string;
  /** The reason, as far as the system or the process's standard error tells it; may be empty. */
  readonly said: string;
  /** False if a new start certainly ends the same way: a program, module or setting is missing. */
  readonly mayRestart: boolean;
}

/** The error of a server whose process did not start or has ended. */
export class ProcessFailure extends PortolanError {
  readonly processEnd: ProcessEnd;

  constructor(processEnd: ProcessEnd) {
    const { command, ending, said } = processEnd;
    super("connection-closed", `The server "${command}" ${ending}${said === "" ? "" : `: ${said}`}`);
    this.processEnd = processEnd;
  }
}

/** Creates the error for a process that ended, with the cause as far as its standard error tells it. */
export function exitError(target: CommandTarget, ending: string, stderr: KeptStderr): ProcessFailure {
  const said = causeIn(target, stderr);
  const mayRestart = !(/^exited with code [1-9]/.test(ending) && isLasting(said));
  return new ProcessFailure({ kind: "ended", command: describeCommand(target), ending, said, mayRestart });
}

/** Causes that do not depend on the messages which the process received. */
const lastingCause =
  /cannot find (?:module|package)|no module named|could not locate the bindings|: (?:command )?not found\b|no such file or directory|permission denied|\bE(?:NOENT|ACCES)\b|SyntaxError|ImportError|\b(?:is|are) (?:required|missing|not set|not provided)|must be (?:set|provided|specified)|missing (?:required|environment|variable|argument|option|api|token)|(?:unknown|required) (?:option|argument)|^usage:/i;
/** Words of a server that ended because of a message, which may be the probe. */
const aboutMessage = /initiali[sz]|discover|protocol|json-?rpc|\b(?:method|request|message|client)|-32\d{3}/i;

function isLasting(said: string): boolean {
  return /^npm (?:error|ERR!)/.test(said) || (lastingCause.test(said) && !aboutMessage.test(said));
}

/** Creates the error for a process that did not start. It has no `cause`, because that lists arguments with secrets. */
export function startError(target: CommandTarget, cause: unknown, exists: PathCheck): ProcessFailure {
  return new ProcessFailure({
    kind: "not-started",
    command: describeCommand(target),
    ending: "could not be started",
    said: whyNotStarted(target, cause, exists),
    mayRestart: false,
  });
}

/** Tells if there is a file or folder at a path, which may be relative to a folder before it. */
type PathCheck = (...path: string[]) => boolean;

function whyNotStarted(target: CommandTarget, cause: unknown, exists: PathCheck): string {
  if (cause instanceof PortolanError) return cause.message;
  const { code } = (cause ?? {}) as { code?: unknown };
  const command = cut(toVisible(target.command), maxCommandPathChars);
  const isPath = /[\\/]/.test(target.command);
  if (code === "ENOENT" || code === "ENOTDIR") {
    if (target.cwd !== undefined && !exists(target.cwd)) {
      return `its working directory ${cut(toVisible(target.cwd), maxCommandPathChars)} does not exist`;
    }
    const [program = "", ...args] = maskWords(command).trim().split(/\s+/);
    if (args.length > 0 && !exists(target.cwd ?? ".", target.command)) {
      const apart = `command ${JSON.stringify(program)} and args ${JSON.stringify(args)}`;
      return `there is no program of this name; give the program and its arguments apart: ${apart}`;
    }
    if (!isPath) return `there is no program ${command} on the PATH; install it, or give its path`;
    return exists(target.cwd ?? ".", target.command)
      ? `the program in the first line of ${command} does not exist; install it`
      : `there is no file ${command}; correct the path`;
  }
  if (code === "EACCES" || code === "EPERM") {
    return `${command} is not executable; make it executable`;
  }
  if (code === "EMFILE" || code === "ENFILE" || code === "EAGAIN") {
    return `the system has too many processes or files (${code})`;
  }
  if (code === "E2BIG") return "its arguments and environment are too long; shorten them";
  return `the system refuses its command, arguments, cwd or environment (${String(code)})`;
}

/**
 * Returns the lines of standard error that most likely name the cause, on one line and without secrets: the last error,
 * or the last lines. The first line is added, because many servers name the cause first and then explain their usage.
 */
export function causeIn(target: CommandTarget, { head, text }: KeptStderr): string {
  const mask = createMasker(target);
  const lines = toLines(mask(text).slice(-maxExitScanChars));
  const error = findError(lines);
  const part = error === undefined ? lines.slice(-maxExitLines) : lines.slice(error, error + maxExitLines);
  const shown = part.map((line) => line.text);
  const { text: first = "" } = toLines(mask(head || text).slice(0, maxExitScanChars)).find(isHeadline) ?? {};
  const start = cut(first, maxExitFirstChars);
  if (start === "" || shown.includes(first) || isPlace(first)) return cut(shown.join(" | "), maxExitChars);
  if (error !== undefined) return `${cut(shown.join(" | "), maxExitChars)} (its first line: ${start})`;
  return `${start} | … | ${cut(shown.join(" | "), maxExitChars)}`;
}

/** A line that begins with the name of an error, or ends as a shell's report of a missing program does. */
const namedError =
  /^(?:Uncaught |Caused by: |Exception in thread "[^"]*" )*(?:[\w.$]*(?:error|exception)|fatal|panic)(?: \[\w+\])?(?::(?=\s)|:?$)|^thread '.*' (?:\(\d+\) )?panicked at |^npm (?:error|ERR!) |: (?:command )?not found$/i;
const looseError = /^\S*(?:error|exception|panic|fatal)\S*:?\s/i;
/** A line that goes on with the error before it. */
const continuedError = /^(?:Caused by: |npm (?:error|ERR!) )/;

/** Returns the place of the line that most likely names the cause. */
function findError(lines: readonly OutputLine[]): number | undefined {
  // Details are not counted: an error may list any number of files.
  const places = lines.flatMap((line, at) => (line.isDetail ? [] : [at])).slice(-maxExitScanLines);
  const last = (pattern: RegExp) => places.findLastIndex((at) => pattern.test(lines[at]?.text ?? ""));
  const named = last(namedError);
  let found = named === -1 ? last(looseError) : named;
  const textAt = (index: number) => lines[places[index] ?? -1]?.text ?? "";
  while (continuedError.test(textAt(found)) && namedError.test(textAt(found - 1))) found -= 1;
  return places[found];
}

/** A line of standard error, without the space around it. */
interface OutputLine {
  readonly text: string;
  /** The line explains another one: it is indented, or an item of a list. */
  readonly isDetail: boolean;
}

function isHeadline({ isDetail }: OutputLine): boolean {
  return !isDetail;
}

function toLines(stderr: string): OutputLine[] {
  const lines = stderr.split(/\r?\n/).filter((line) => line.trim() !== "" && !decoration.test(line));
  return lines.map((line) => ({
    text: toVisible(line.trim()),
    isDetail: /^\s|^(?:[-*•→] |Require stack:)/.test(line),
  }));
}

/** Node begins the report of an uncaught error with the place in its source. */
function isPlace(line: string): boolean {
  return /^(?:node:|file:|\/|[A-Z]:\\)\S*:\d+$/.test(line);
}

/** Lines that never name a cause: places in a stack, brackets, and warnings of the programs that start servers. */
const decoration = new RegExp(
  [
    ...[/^\s+at /, /^[\s^~}\])]*$/, /^Node\.js v\d/, /^\(node:\d+\) .*Warning: /, /^\(Use `node /],
    ...[/^npm (?:warn|notice) /i, /^npm (?:error|ERR!)\s*(?:\d+\s*)?$/, /^npm (?:error|ERR!) A complete log /],
    ...[/^Traceback \(most/, /^stack backtrace:/, /^\s+\d+: /, /^note: (?:run with|Some details)/, /^goroutine \d+ \[/],
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);

const secretName = /token|secret|passw|passphrase|credential|key|auth(?!ors?\b)|bearer/i;
const secretFlag = /^--?[\w.-]+$/;
const secretSetting = new RegExp(
  `(?:${secretName.source})[\\w.-]*\\s*[=:]\\s*(?:bearer\\s+|basic\\s+)?(\\S[^]*)$`,
  "i",
);
const urlPassword = /:\/\/[^\s/:@]*:([^\s/]+)@/;
const mask = "***";

/** Returns the command and its first arguments for an error message, without secrets. */
export function describeCommand({ command, args = [] }: CommandTarget): string {
  const masked = args.map((argument, index) => hide(argument, secretsIn(argument, args[index - 1])));
  const shown = [maskWords(command), ...masked]
    .slice(0, maxCommandWords)
    .map((word) => cut(toVisible(word), maxCommandWordChars));
  return (masked.length < maxCommandWords ? shown : [...shown, "…"]).join(" ");
}

/** Masks secrets in a command that has arguments in it by mistake. */
function maskWords(command: string): string {
  const words = command.split(" ");
  return words.map((word, index) => hide(word, secretsIn(word, words[index - 1]))).join(" ");
}

/** Returns a function that masks the secrets of the target's arguments and environment in a text. */
export function createMasker({ args = [], env = {} }: CommandTarget): (text: string) => string {
  // Short values that are no secrets, such as "1" or "debug", would mask half of the text.
  const values = Object.entries(env).filter(([name, value]) => value.length >= (secretName.test(name) ? 3 : 8));
  const secrets = [
    ...values.map(([, value]) => value),
    ...args.flatMap((argument, index) => secretsIn(argument, args[index - 1])).filter((secret) => secret.length >= 3),
  ];
  // Longest first: one secret may be the start of another.
  secrets.sort((a, b) => b.length - a.length);
  return (text) => hide(text, secrets);
}

/** Escapes characters that would move the cursor, hide text or reverse it, and removes colours. */
export function toVisible(text: string): string {
  return text
    .replace(/\p{Cc}\[[\d;]*m/gu, "")
    .replaceAll("\t", " ")
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

function secretsIn(argument: string, previous = ""): string[] {
  if (secretFlag.test(previous) && secretName.test(previous)) return [argument];
  return [secretSetting, urlPassword].flatMap((pattern) => pattern.exec(argument)?.[1] ?? []);
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, mask)), text);
}
