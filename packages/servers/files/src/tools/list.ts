import { lstat } from "node:fs/promises";
import { annotations, array, count, object, string, textResult } from "portolan-server-kit";
import { withReasons } from "../disk/system-errors.ts";
import { type Entry, type Kind, kindOf, pageOf } from "../disk/walk.ts";
import type { Folder } from "../jail/folder.ts";
import { inBytes, inLine, kindSchema, type MakeTool, pathSchema } from "./tool-parts.ts";

interface Input {
  path?: string;
  after?: string;
  limit?: number;
}

interface Listed {
  name: string;
  path: string;
  kind: Kind;
  size?: number;
  modified?: string;
}

interface Output {
  path: string;
  entries: Listed[];
  total: number;
  next?: string;
}

const usual = 200;

export const listTool: MakeTool<Input, Output> = (desk) => ({
  title: "List a folder",
  description:
    "Lists what is in one folder, sorted by name. Large folders come in pages: pass next as after. Without a path it lists the served folder, or all of them.",
  input: object(
    {
      path: pathSchema,
      after: string("Begin behind this name: next of the page before"),
      limit: count(`How many entries, ${usual} unless given`, { minimum: 1, maximum: desk.settings.limits.results }),
    },
    ["path", "after", "limit"],
  ),
  output: object(
    {
      path: string("The folder"),
      entries: array(
        object(
          {
            name: string("Its name"),
            path: string("What to pass to other tools"),
            kind: kindSchema,
            size: count("Bytes of a file"),
            modified: string("When it last changed, ISO 8601"),
          },
          ["size", "modified"],
        ),
        "One page",
      ),
      total: count("How many the folder has"),
      next: string("There is more: pass this as after"),
    },
    ["next"],
  ),
  annotations: annotations.reads,
  run({ path = ".", after, limit = usual }, ctx) {
    return withReasons(path, async () => {
      const jail = await desk.jailFor(ctx);
      if (jail.isTop(path)) {
        const entries = jail.roots.map(({ name }) => ({ name, path: name, kind: "folder" as const }));
        return answer({ path: ".", entries, total: entries.length });
      }
      return jail.inFolder(path, async (folder, place) => {
        const isShown = (name: string) => jail.isNameShown(name);
        const page = await pageOf(folder, { after, limit, isShown, signal: ctx.signal });
        const prefix = place.path === "." ? "" : `${place.path}/`;
        const entries = await Promise.all(page.entries.map((entry) => describe(folder, entry, prefix)));
        const last = page.entries.at(-1)?.name;
        const isMore = !page.isLast && last !== undefined;
        return answer({ path: place.path, entries, total: page.total, ...(isMore && { next: last }) });
      });
    });
  },
});

async function describe(folder: Folder, entry: Entry, prefix: string): Promise<Listed> {
  const { name } = entry;
  const listed = { name, path: prefix + name, kind: entry.kind };
  try {
    const stats = await lstat(folder.at(name));
    const modified = stats.mtime.toISOString();
    const kind = kindOf(stats);
    return { ...listed, kind, ...(kind === "file" && { size: stats.size }), modified };
  } catch {
    // Gone since the folder was read: its name is all that is known.
    return listed;
  }
}

function answer(output: Output) {
  const { entries, total, next } = output;
  const rows = entries.map(({ name, kind, size }) => {
    if (kind === "folder") return `${inLine(name)}/`;
    return size === undefined ? `${inLine(name)} (${kind})` : `${inLine(name)} (${inBytes(size)})`;
  });
  const more = next === undefined ? [] : [`… ${total} in all; more with after: ${JSON.stringify(next)}`];
  return textResult([...(rows.length === 0 ? ["(empty)"] : rows), ...more].join("\n"), output);
}
