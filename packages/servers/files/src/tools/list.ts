import { lstat } from "node:fs/promises";
import { annotations, array, count, object, string, textResult } from "portolan-server-kit";
import { type Entry, explainSystemErrors, type Folder, type Kind, kindOf, pageOf } from "portolan-server-kit/files";
import { type CreateTool, formatSize, kindSchema, pathSchema, quoteControls } from "./tool-parts.ts";

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

const defaultLimit = 200;

export const listTool: CreateTool<Input, Output> = (workspace) => ({
  title: "List a folder",
  description:
    "Lists the entries of one folder, sorted by name, in pages: pass next as after. Default path: the served folder, or the list of all served folders.",
  input: object(
    {
      path: pathSchema,
      after: string("Start after this name: next of the previous page"),
      limit: count(`Maximum number of entries. Default: ${defaultLimit}`, {
        minimum: 1,
        maximum: workspace.settings.limits.results,
      }),
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
            path: string("Path for other tools"),
            kind: kindSchema,
            size: count("Size of a file in bytes"),
            modified: string("Time of the last change, ISO 8601"),
          },
          ["size", "modified"],
        ),
        "One page",
      ),
      total: count("Number of entries in the folder"),
      next: string("Pass it as after to get the next page; absent on the last page"),
    },
    ["next"],
  ),
  annotations: annotations.reads,
  run({ path = ".", after, limit = defaultLimit }, ctx) {
    return explainSystemErrors(path, async () => {
      const jail = await workspace.jailFor(ctx);
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
    // Removed since the folder was read: only the name is known.
    return listed;
  }
}

function answer(output: Output) {
  const { entries, total, next } = output;
  const rows = entries.map(({ name, kind, size }) => {
    if (kind === "folder") return `${quoteControls(name)}/`;
    return size === undefined ? `${quoteControls(name)} (${kind})` : `${quoteControls(name)} (${formatSize(size)})`;
  });
  const more = next === undefined ? [] : [`… ${total} in all; more with after: ${JSON.stringify(next)}`];
  return textResult([...(rows.length === 0 ? ["(empty)"] : rows), ...more].join("\n"), output);
}
