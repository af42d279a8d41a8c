import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { explainSystemErrors, type Kind } from "portolan-server-kit/files";
import { type CreateTool, kindSchema, pathSchema, quoteControls } from "./tool-parts.ts";
import { unreadableLines, unreadableSchema, visitBelow } from "./visit.ts";

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
  unreadable?: number;
}

const defaultDepth = 3;
const defaultLimit = 500;

export const treeTool: CreateTool<Input, Output> = (workspace) => ({
  title: "Show the tree of folders",
  description: `Shows folders and files below a folder. Default depth: ${defaultDepth} levels. Folders such as node_modules are shown but not entered. Use find to search by name.`,
  input: object(
    {
      path: pathSchema,
      depth: count(`Number of levels. Default: ${defaultDepth}`, {
        minimum: 1,
        maximum: workspace.settings.limits.depth,
      }),
      limit: count(`Maximum number of entries. Default: ${defaultLimit}`, {
        minimum: 1,
        maximum: workspace.settings.limits.results,
      }),
      all: boolean("Also search folders that are normally skipped, such as node_modules"),
    },
    ["path", "depth", "limit", "all"],
  ),
  output: object(
    {
      path: string("The folder"),
      entries: array(object({ path: string("Path for other tools"), kind: kindSchema }), "Parents before children"),
      isCut: boolean("True if there is more: raise limit, or start in a subfolder"),
      unreadable: unreadableSchema,
    },
    ["unreadable"],
  ),
  annotations: annotations.reads,
  run({ path = ".", depth = defaultDepth, limit = defaultLimit, all = false }, ctx) {
    return explainSystemErrors(path, async () => {
      const jail = await workspace.jailFor(ctx);
      const entries: Output["entries"] = [];
      const rows: string[] = [];
      const isTop = jail.isTop(path);
      let current: string | undefined;
      let isFull = false;
      const end = await visitBelow(workspace, jail, ctx, path, { depth, all }, (found) => {
        isFull = entries.length === limit;
        if (isFull) return false;
        const [root = ""] = found.path.split("/");
        if (isTop && root !== current) rows.push(`${root}/`);
        current = root;
        entries.push({ path: found.path, kind: found.kind });
        const indent = "  ".repeat(found.segments.length - (isTop ? 0 : 1));
        rows.push(`${indent}${quoteControls(found.name)}${found.kind === "folder" ? "/" : ""}`);
        return true;
      });
      const isCut = isFull || end.isCut;
      const text = [
        ...(rows.length === 0 ? ["(empty)"] : rows),
        ...(isCut ? ["… cut; raise limit or start in a subfolder"] : []),
        ...unreadableLines(end.unreadable),
      ];
      const { unreadable } = end;
      return textResult(text.join("\n"), { path, entries, isCut, ...(unreadable > 0 && { unreadable }) });
    });
  },
});
