import { withReasons } from "../failures.ts";
import { count, flag, kindSchema, list, object, pathSchema, text } from "../schema.ts";
import type { Kind } from "../walk.ts";
import { inLine, type MakeTool, readsOnly, says } from "./common.ts";
import { visitBelow } from "./starts.ts";

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
      depth: count(`How many levels, ${usualDepth} unless given`, 1, desk.settings.limits.depth),
      limit: count(`How many entries, ${usualLimit} unless given`, 1, desk.settings.limits.results),
      all: flag("Also look into folders that are usually passed by, such as node_modules"),
    },
    { optional: ["path", "depth", "limit", "all"] },
  ),
  output: object({
    path: text("The folder"),
    entries: list(object({ path: text("What to pass to other tools"), kind: kindSchema }), "Parents before children"),
    isCut: flag("There is more than was told: raise limit, or begin further down"),
  }),
  annotations: readsOnly,
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
      return says(text.join("\n"), { path, entries, isCut });
    });
  },
});
