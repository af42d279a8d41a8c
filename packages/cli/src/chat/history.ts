import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { redact } from "portolan-host";
import type { CommandContext } from "../command.ts";

const maxLines = 1_000;
/** Longer texts were pasted; they are kept for this session only. */
const maxChars = 4_000;

/**
 * The lines that the person typed in this chat and in earlier ones, in a file that only they can read. A line that begins
 * with a blank, or that seems to contain a secret, is not written to it.
 */
export class ChatHistory {
  readonly #file: string;
  readonly #warn: (message: string) => void;
  readonly #lines: string[];
  #isWritable = true;

  private constructor(file: string, warn: (message: string) => void, lines: string[]) {
    this.#file = file;
    this.#warn = warn;
    this.#lines = lines;
  }

  /** Reads the history of earlier chats. */
  static async open({ state, warn }: Pick<CommandContext, "state" | "warn">): Promise<ChatHistory> {
    const file = join(state.folder, "chat-history.jsonl");
    const text = await readFile(file, "utf8").catch(() => "");
    const lines = text.split("\n").flatMap(parse);
    // Only now and then, because another chat may be adding lines.
    if (lines.length > 2 * maxLines) {
      const kept = lines.slice(-maxLines).map((line) => `${JSON.stringify(line)}\n`);
      await writeFile(file, kept.join(""), { mode: 0o600 }).catch(() => {});
    }
    return new ChatHistory(file, warn, lines.slice(-maxLines).reverse());
  }

  /** All lines, the newest first. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Adds a line. A failure to write is reported once. */
  async add(line: string): Promise<void> {
    if (line.trim() === "" || line === this.#lines[0]) return;
    this.#lines.unshift(line);
    if (!this.#isWritable || line.startsWith(" ") || line.length > maxChars || redact(line) !== line) return;
    try {
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
      await appendFile(this.#file, `${JSON.stringify(line)}\n`, { mode: 0o600 });
    } catch (reason) {
      this.#isWritable = false;
      this.#warn(`The history of this chat is not saved: ${reason instanceof Error ? reason.message : String(reason)}`);
    }
  }
}

/** Parses one line of the file. A damaged one is left out. */
function parse(line: string): string[] {
  if (line === "") return [];
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "string" ? [value] : [];
  } catch {
    return [];
  }
}
