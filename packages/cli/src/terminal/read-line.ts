import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { System } from "../system.ts";
import { PreviousField, QuestionDismissed, TypeAhead } from "./input.ts";
import { LineKeys } from "./line-keys.ts";
import type { Screen } from "./screen.ts";
import type { Completer, LineOptions } from "./terminal.ts";
import { widthOf } from "./wrap.ts";

const pasteOn = "\u001b[?2004h";
/** Ends bracketed paste, and shows the cursor again. */
const restore = "\u001b[?2004l\u001b[?25h";
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what sequences begin with
const sequences = /\u001b\[[?\d;]*[A-Za-z]/g;

interface ReadLineContext {
  readonly system: System;
  readonly screen: Screen;
  readonly signal: AbortSignal | undefined;
}

/** Reads a line. Pasted lines stay together if the terminal supports bracketed paste. */
export async function readLine({ system, screen, signal }: ReadLineContext, options: LineOptions): Promise<string> {
  const { prompt = "  > ", initial = "", isSecret = false, complete, history = [], typed = new TypeAhead() } = options;
  const { stdin, stderr } = system;
  const pastes = new Pastes(system, screen);
  let leave: (reason: unknown) => void = () => {};
  const keys = Object.assign(
    new LineKeys(typed, {
      pasted: options.onPaste ?? ((text) => pastes.insert(lines, text)),
      interrupted: () => leave(new QuestionDismissed("cancel")),
      back: options.hasBack ? () => leave(new PreviousField("back")) : undefined,
    }),
    { setRawMode: (isRaw: boolean) => stdin.setRawMode(isRaw) },
  );
  let isOpen = true;
  const earlier = isSecret ? [] : history.filter((line) => pastes.fits(line));
  const lines: Interface = createInterface({
    input: keys,
    output: isSecret ? mute() : screen.isDumb ? plain(stderr) : stderr,
    terminal: true,
    prompt: isSecret ? "" : prompt,
    // Readline adds the entered line to its list.
    history: [...earlier],
    historySize: isSecret ? 0 : 1_000,
    ...(complete && { completer: completerOf(complete, screen, () => isOpen) }),
  });
  if (earlier.length > 0 && !screen.isDumb) addHistorySearch(lines, { history: earlier, prompt, screen });
  const receive = (bytes: Buffer) => keys.receive(bytes);
  const end = () => keys.push(null);
  stdin.on("data", receive).once("end", end).resume();
  const release = screen.isDumb ? () => {} : system.onExit(() => restoreTerminal(system));
  if (!screen.isDumb) stderr.write(pasteOn);
  // Only now: until raw mode is on, the terminal itself echoes keys.
  if (isSecret) stderr.write(prompt);
  try {
    const line = await new Promise<string>((resolve, reject) => {
      leave = reject;
      const withdrawn = () => reject(signal?.reason);
      if (signal?.aborted) return withdrawn();
      signal?.addEventListener("abort", withdrawn, { once: true });
      lines
        .on("line", resolve)
        .on("SIGINT", () => reject(new QuestionDismissed("cancel", lines.line)))
        .on("close", () => {
          signal?.removeEventListener("abort", withdrawn);
          reject(new QuestionDismissed("decline"));
        });
      lines.prompt();
      if (initial !== "") lines.write(initial);
    });
    if (isSecret) stderr.write("\n");
    return pastes.unfold(screen.isDumb ? erase(line) : line);
  } catch (reason) {
    typed.drop();
    stderr.write("\n");
    throw reason;
  } finally {
    isOpen = false;
    lines.close();
    stdin.off("data", receive).off("end", end).pause();
    release();
    if (!screen.isDumb) stderr.write(restore);
  }
}

/** Restores the terminal, however the program ends. */
function restoreTerminal({ stdin, stderr }: System): void {
  stdin.setRawMode(false);
  stderr.write(restore);
}

function completerOf(complete: Completer, screen: Screen, isOpen: () => boolean) {
  return (line: string, done: (error: null, result: [string[], string]) => void): void => {
    // If completion fails, the person types on.
    const none: readonly [readonly string[], string] = [[], line];
    complete(line)
      .catch(() => none)
      .then(([proposals, part]) => {
        // Readline writes proposals unescaped, so only harmless ones are passed on.
        if (isOpen()) done(null, [proposals.filter((proposal) => screen.safe(proposal) === proposal), part]);
      });
  };
}

/** Text pasted into one line: shown as it is if there is room, otherwise as its size. */
class Pastes {
  readonly #system: System;
  readonly #screen: Screen;
  readonly #folded = new Map<string, string>();

  constructor(system: System, screen: Screen) {
    this.#system = system;
    this.#screen = screen;
  }

  /**
   * True if the text takes at most half of the screen. Readline cannot redraw a line that is longer than the screen.
   */
  fits(text: string): boolean {
    const { stderr } = this.#system;
    const [columns, rows] = [stderr.columns || this.#screen.columns, stderr.rows || 24];
    const taken = text.split("\n").map((line) => Math.floor(widthOf(line) / columns) + 1);
    return taken.reduce((sum, count) => sum + count, 0) <= rows / 2;
  }

  insert(lines: Interface, text: string): void {
    const { line, cursor } = lines;
    const shown = this.fits(line + text) ? text : this.#fold(text);
    Object.assign(lines, {
      line: `${line.slice(0, cursor)}${shown}${line.slice(cursor)}`,
      cursor: cursor + shown.length,
    });
    lines.prompt(true);
  }

  #fold(text: string): string {
    const count = text.split("\n").length;
    const size = count > 1 ? `${count} lines` : `${text.length} characters`;
    const sign = `[pasted ${this.#folded.size + 1}: ${size}]`;
    this.#folded.set(sign, text);
    return sign;
  }

  unfold(line: string): string {
    return [...this.#folded].reduce((whole, [sign, text]) => whole.replace(sign, () => text), line);
  }
}

interface Key {
  readonly name?: string;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
}

/** The member of readline that handles one key. The REPL of Node.js replaces it for its own search. */
interface KeyHandler {
  _ttyWrite(text: string | undefined, key: Key): void;
}

interface Search {
  readonly query: string;
  /** The place of the match in the history; -1 before the first one. */
  readonly at: number;
  readonly isFound: boolean;
}

/**
 * Adds a search of the history to a line: Ctrl-R finds the newest line with the typed text, again Ctrl-R an older one.
 * Escape and Ctrl-G go back to the text before; every other key works on the line that was found.
 */
function addHistorySearch(
  lines: Interface,
  {
    history,
    prompt,
    screen,
  }: { readonly history: readonly string[]; readonly prompt: string; readonly screen: Screen },
): void {
  const keys = lines as Interface & KeyHandler;
  const handle = keys._ttyWrite.bind(lines);
  let before = "";
  let search: Search | undefined;
  const show = (line: string) => {
    Object.assign(lines, { line, cursor: line.length });
    const what = search?.isFound === false ? "not found" : "search";
    lines.setPrompt(search ? `${screen.style("dim", `${what} ${search.query}:`)} ` : prompt);
    lines.prompt(true);
  };
  const find = (query: string, from: number) => {
    const at = history.findIndex((line, index) => index >= from && line.toLowerCase().includes(query.toLowerCase()));
    const last = search?.at ?? -1;
    search = { query, at: at < 0 ? last : at, isFound: query === "" || at >= 0 };
    // Enter sends the line that is shown, so nothing that was not searched for is shown.
    show(query === "" || !search.isFound ? before : (history[search.at] ?? before));
  };
  const leave = (line: string) => {
    search = undefined;
    show(line);
  };
  keys._ttyWrite = (text, key) => {
    const isSearchKey = key.ctrl === true && key.name === "r";
    if (!search) {
      if (!isSearchKey) return handle(text, key);
      before = lines.line;
      return find(before, 0);
    }
    const { query, at } = search;
    if (isSearchKey) return find(query, at + 1);
    if (key.name === "escape" || (key.ctrl === true && key.name === "g")) return leave(before);
    if (key.name === "backspace") return find([...query].slice(0, -1).join(""), 0);
    const isText = text !== undefined && key.ctrl !== true && key.meta !== true && /^[^\p{Cc}]+$/u.test(text);
    if (isText) return find(query + text, Math.max(0, at));
    leave(lines.line);
    handle(text, key);
  };
}

/** Returns a stream that shows nothing. */
function mute(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/** Returns a stream for terminals without escape sequences. */
function plain(stderr: NodeJS.WriteStream): Writable {
  return new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => {
      stderr.write(String(chunk).replace(sequences, ""));
      done();
    },
  });
}

/** Applies erase keys to a line, for terminals that do not do it. */
function erase(line: string): string {
  const kept: string[] = [];
  for (const character of line) {
    if (character === "\u007f" || character === "\b") kept.pop();
    else kept.push(character);
  }
  return kept.join("");
}
