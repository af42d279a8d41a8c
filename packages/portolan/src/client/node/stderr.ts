import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { PortolanError } from "../../errors.ts";
import type { CommandTarget } from "../options.ts";

const blockBytes = 16 * 1024;
const maxBlocks = 16;
const maxLineLength = 8 * 1024;

/** Keeps the last 256 KB of what a child writes to standard error, and hands each line on as it comes. */
export class StderrTail {
  readonly #blocks: Uint8Array[] = [];
  /** How much of the last block is filled. */
  #filled = blockBytes;
  readonly #lines: LineSplitter | undefined;

  constructor(hear: ((line: string) => void) | undefined) {
    this.#lines = hear && new LineSplitter(hear);
  }

  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const block = this.#openBlock();
      const piece = chunk.subarray(at, at + blockBytes - this.#filled);
      block.set(piece, this.#filled);
      this.#filled += piece.length;
      at += piece.length;
    }
    this.#lines?.push(chunk);
  }

  /** The stream is over: a last line without its newline is handed on all the same. */
  end(): void {
    this.#lines?.end();
  }

  get text(): string {
    const bytes = Buffer.concat(this.#blocks, (this.#blocks.length - 1) * blockBytes + this.#filled);
    // Where older text was dropped, the first character may have lost its start.
    let start = 0;
    while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return bytes.toString("utf8", start);
  }

  #openBlock(): Uint8Array {
    const last = this.#blocks.at(-1);
    if (last && this.#filled < blockBytes) return last;
    const block = new Uint8Array(blockBytes);
    this.#blocks.push(block);
    if (this.#blocks.length > maxBlocks) this.#blocks.shift();
    this.#filled = 0;
    return block;
  }
}

/** Lines out of bytes; a very long one is cut, and its rest is not waited for. */
class LineSplitter {
  readonly #hear: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #line = "";
  #isCut = false;

  constructor(hear: (line: string) => void) {
    this.#hear = hear;
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
    if (this.#line.length <= maxLineLength) return;
    this.#tell(`${this.#line.slice(0, maxLineLength)}…`);
    this.#line = "";
    this.#isCut = true;
  }

  #endLine(): void {
    if (!this.#isCut) this.#tell(this.#line.endsWith("\r") ? this.#line.slice(0, -1) : this.#line);
    this.#line = "";
    this.#isCut = false;
  }

  #tell(line: string): void {
    try {
      this.#hear(line);
    } catch {
      // A listener that fails is no reason to stop reading: a child nobody reads comes to a halt.
    }
  }
}

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

const secretName = /token|secret|passw|passphrase|credential|key|auth(?!ors?\b)|bearer/i;
const secretFlag = /^--?[\w.-]+$/;
const secretSetting = new RegExp(
  `(?:${secretName.source})[\\w.-]*\\s*[=:]\\s*(?:bearer\\s+|basic\\s+)?(\\S[^]*)$`,
  "i",
);
const urlPassword = /:\/\/[^\s/:@]*:([^\s/]+)@/;
const mask = "***";
const maxWords = 5;
const maxWordLength = 80;

/** The command and its first arguments, as an error message may show them. */
export function nameCommand({ command, args = [] }: CommandTarget): string {
  const masked = args.map((argument, index) => hide(argument, secretsIn(argument, args[index - 1])));
  const shown = [command, ...masked].slice(0, maxWords).map((word) => cut(toVisible(word), maxWordLength));
  return (masked.length < maxWords ? shown : [...shown, "…"]).join(" ");
}

/** Takes out of a text what the child was given in confidence. */
export function createMasker({ args = [], env = {} }: CommandTarget): (text: string) => string {
  // Short values that are no secrets, such as "1" or "debug", would take half of the text with them.
  const values = Object.entries(env).filter(([name, value]) => value.length >= (secretName.test(name) ? 3 : 8));
  const secrets = [
    ...values.map(([, value]) => value),
    ...args.flatMap((argument, index) => secretsIn(argument, args[index - 1])).filter((secret) => secret.length >= 3),
  ];
  // The longest first: one secret may be the start of another.
  secrets.sort((a, b) => b.length - a.length);
  return (text) => hide(text, secrets);
}

/** Shows what would move the cursor, hide text or turn it round; colours are left out. */
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
