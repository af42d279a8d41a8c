import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Context } from "../command.ts";

/** Has a value changed as JSON in the person's editor; undefined when there is no editor. */
export async function editJson(context: Context, value: unknown): Promise<unknown> {
  const { env } = context.world;
  const [program, ...args] = (env["VISUAL"] || env["EDITOR"] || "").split(/\s+/).filter(Boolean);
  if (program === undefined) return undefined;
  // A folder of its own, which is the owner's alone: editors leave copies beside the file.
  const folder = await mkdtemp(join(tmpdir(), "portolan-edit-"));
  const file = join(folder, "edit.json");
  try {
    await writeFile(file, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
    const child = spawn(program, [...args, file], { stdio: "inherit", shell: false });
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`${program} ended with ${code}`);
    return JSON.parse(await readFile(file, "utf8"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Has a text changed on one line, where `\n` stands for a new one. */
export async function editLine({ terminal, screen }: Context, text: string): Promise<string> {
  const shown = screen.safe(text, { lines: "keep" }).replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  const line = await terminal.line({ initial: shown });
  return line.replace(/\\(n|\\)/g, (_, escaped) => (escaped === "n" ? "\n" : "\\"));
}
