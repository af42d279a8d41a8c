import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { PortolanError } from "../../errors.ts";
import {
  maxCommandPathChars,
  maxCommandWordChars,
  maxCommandWords,
  maxExitChars,
  maxExitLines,
  maxExitScanChars,
  maxExitScanLines,
  maxStderrBlocks,
  maxStderrLineChars,
  stderrBlockBytes,
} from "../limits.ts";
import type { CommandTarget } from "../options.ts";

/** Keeps the last 256 KB of a child's standard error, and passes each line to a listener. */
export class StderrTail {
  readonly #blocks: Uint8Array[] = [];
  /** Bytes in use of the last block. */
  #filled = stderrBlockBytes;
  readonly #lines: LineSplitter | undefined;

  constructor(onLine: ((line: string) => void) | undefined) {
    this.#lines = onLine && new LineSplitter(onLine);
  }

  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const block = this.#openBlock();
      const piece = chunk.subarray(at, at + stderrBlockBytes - this.#filled);
      block.set(piece, this.#filled);
      this.#filled += piece.length;
      at += piece.length;
    }
    this.#lines?.push(chunk);
  }

  /** Ends the stream and emits a last line without a newline. */
  end(): void {
    this.#lines?.end();
  }

  get text(): string {
    const bytes = Buffer.concat(this.#blocks, (this.#blocks.length - 1) * stderrBlockBytes + this.#filled);
    // Older blocks are dropped, so the first character may be incomplete.
    let start = 0;
    while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return bytes.toString("utf8", start);
  }

  #openBlock(): Uint8Array {
    const last = this.#blocks.at(-1);
    if (last && this.#filled < stderrBlockBytes) return last;
    const block = new Uint8Array(stderrBlockBytes);
    this.#blocks.push(block);
    if (this.#blocks.length > maxStderrBlocks) this.#blocks.shift();
    this.#filled = 0;
    return block;
  }
}

/** Splits bytes into lines. A very long line is emitted as soon as it is too long, and its rest is dropped. */
class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #line = "";
  #isCut = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array): void {
    const text = this.#decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#hold(text.slice(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#hold(text.slice(start));
  }

  end(): void {
    this.#hold(this.#decoder.decode());
    if (this.#line !== "") this.#endLine();
  }

  #hold(text: string): void {
    if (this.#isCut) return;
    this.#line += text;
    if (this.#line.length <= maxStderrLineChars) return;
    this.#emit(`${this.#line.slice(0, maxStderrLineChars)}…`);
    this.#line = "";
    this.#isCut = true;
  }

  #endLine(): void {
    if (!this.#isCut) this.#emit(this.#line.endsWith("\r") ? this.#line.slice(0, -1) : this.#line);
    this.#line = "";
    this.#isCut = false;
  }

  #emit(line: string): void {
    try {
      this.#onLine(line);
    } catch {
      // Reading goes on if a listener throws: a child whose pipe is full stops.
    }
  }
}

/** Creates the error for a process that ended, with the last lines of its standard error. */
export function exitError(target: CommandTarget, ending: string, stderr: string): PortolanError {
  const last = lastLines(createMasker(target)(stderr.slice(-maxExitScanChars)));
  const message = `The server "${describeCommand(target)}" ${ending}`;
  return new PortolanError("connection-closed", last === "" ? message : `${message}: ${last}`);
}

/** Creates the error for a process that did not start. It has no `cause`, because that lists arguments with secrets. */
export function startError(target: CommandTarget, cause: unknown): PortolanError {
  const message = `The server "${describeCommand(target)}" could not be started: ${whyNotStarted(target, cause)}`;
  return new PortolanError("connection-closed", message);
}

function whyNotStarted(target: CommandTarget, cause: unknown): string {
  if (cause instanceof PortolanError) return cause.message;
  const { code } = (cause ?? {}) as { code?: unknown };
  const command = cut(toVisible(target.command), maxCommandPathChars);
  const isPath = /[\\/]/.test(target.command);
  if (code === "ENOENT" || code === "ENOTDIR") {
    if (target.cwd !== undefined && !existsSync(target.cwd)) {
      return `its working directory ${cut(toVisible(target.cwd), maxCommandPathChars)} does not exist`;
    }
    if (!isPath) return `there is no program ${command} on the PATH; install it, or give its path`;
    return existsSync(resolve(target.cwd ?? ".", target.command))
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

/** Returns the lines from the last error on, or the last lines if there is no error. */
function lastLines(stderr: string): string {
  const lines = stderr.split(/\r?\n/).filter((line) => line.trim() !== "" && !isDecoration(line));
  const recent = lines.slice(-maxExitScanLines);
  const error = recent.findLastIndex((line) => /^\S*(?:error|exception|panic)\S*:?\s/i.test(line));
  const shown = error === -1 ? recent.slice(-maxExitLines) : recent.slice(error, error + maxExitLines);
  return cut(shown.map((line) => toVisible(line.trim())).join(" | "), maxExitChars);
}

function isDecoration(line: string): boolean {
  return /^\s+at |^Node\.js v\d|^[\s^~}\])]*$/.test(line);
}

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
  const shown = [command, ...masked].slice(0, maxCommandWords).map((word) => cut(toVisible(word), maxCommandWordChars));
  return (masked.length < maxCommandWords ? shown : [...shown, "…"]).join(" ");
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
