import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { withReasons } from "../disk/system-errors.ts";
import type { Kind } from "../disk/walk.ts";
import { inLine, kindSchema, type MakeTool, pathSchema } from "./tool-parts.ts";
import { visitBelow } from "./visit.ts";

interface Input {
  path?: string;
  depth?: number;
  limit?: number;
  all?: boolean;
}

interface Output {
  path: string;
  entries: { path: string; kind: Kind }[];
  isCut: boolean;
}

const usualDepth = 3;
const usualLimit = 500;

export const treeTool: MakeTool<Input, Output> = (desk) => ({
  title: "Show the tree of folders",
  description: `Shows folders and files below a folder, ${usualDepth} levels deep unless told otherwise. Folders such as node_modules are named but not opened. To find something by name use find.`,
  input: object(
    {
      path: pathSchema,
      depth: count(`How many levels, ${usualDepth} unless given`, { minimum: 1, maximum: desk.settings.limits.depth }),
      limit: count(`How many entries, ${usualLimit} unless given`, {
        minimum: 1,
        maximum: desk.settings.limits.results,
      }),
      all: boolean("Also look into folders that are usually passed by, such as node_modules"),
    },
    ["path", "depth", "limit", "all"],
  ),
  output: object({
    path: string("The folder"),
    entries: array(
      object({ path: string("What to pass to other tools"), kind: kindSchema }),
      "Parents before children",
    ),
    isCut: boolean("There is more than was told: raise limit, or begin further down"),
  }),
  annotations: annotations.reads,
  run({ path = ".", depth = usualDepth, limit = usualLimit, all = false }, ctx) {
    return withReasons(path, async () => {
      const jail = await desk.jailFor(ctx);
      const entries: Output["entries"] = [];
      const rows: string[] = [];
      const isTop = jail.isTop(path);
      let current: string | undefined;
      let isFull = false;
      const end = await visitBelow(desk, jail, ctx, path, { depth, all }, (found) => {
        isFull = entries.length === limit;
        if (isFull) return false;
        const [root = ""] = found.path.split("/");
        if (isTop && root !== current) rows.push(`${root}/`);
        current = root;
        entries.push({ path: found.path, kind: found.kind });
        const indent = "  ".repeat(found.way.length - (isTop ? 0 : 1));
        rows.push(`${indent}${inLine(found.name)}${found.kind === "folder" ? "/" : ""}`);
        return true;
      });
      const isCut = isFull || end.isCut;
      const text = [...(rows.length === 0 ? ["(empty)"] : rows), ...(isCut ? ["… cut; raise limit or go deeper"] : [])];
      return textResult(text.join("\n"), { path, entries, isCut });
    });
  },
});
