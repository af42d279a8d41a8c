import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { compileGlob } from "../disk/glob.ts";
import { withReasons } from "../disk/system-errors.ts";
import type { Kind } from "../disk/walk.ts";
import { inLine, kindSchema, type MakeTool, pathSchema } from "./tool-parts.ts";
import { visitBelow } from "./visit.ts";

interface Input {
  pattern: string;
  path?: string;
  kind?: "file" | "folder";
  ignoreCase?: boolean;
  limit?: number;
  all?: boolean;
}

interface Output {
  entries: { path: string; kind: Kind }[];
  walked: number;
  isCut: boolean;
}

const usual = 200;

export const findTool: MakeTool<Input, Output> = (desk) => ({
  title: "Find files by name",
  description:
    "Finds files and folders whose name fits a pattern: *.md, test-?.{js,ts}, or with folders src/**/index.ts. To look into files use search.",
  input: object(
    {
      pattern: {
        ...string("* and ? in a name, ** for any folders, [a-z], {a,b}. Without a slash: the name, at any depth"),
        minLength: 1,
        maxLength: 500,
      },
      path: pathSchema,
      kind: { enum: ["file", "folder"], description: "Only these" },
      ignoreCase: boolean("Capitals do not matter"),
      limit: count(`How many, ${usual} unless given`, { minimum: 1, maximum: desk.settings.limits.results }),
      all: boolean("Also look into folders that are usually passed by, such as node_modules"),
    },
    ["path", "kind", "ignoreCase", "limit", "all"],
  ),
  output: object({
    entries: array(object({ path: string("What to pass to other tools"), kind: kindSchema }), "What was found"),
    walked: count("How many entries were looked at"),
    isCut: boolean("There may be more: raise limit, or begin further down with path"),
  }),
  annotations: annotations.reads,
  run({ pattern, path = ".", kind, ignoreCase = false, limit = usual, all = false }, ctx) {
    return withReasons(path, async () => {
      const jail = await desk.jailFor(ctx);
      const fits = compileGlob(pattern, { ignoreCase });
      const entries: Output["entries"] = [];
      let isFull = false;
      const end = await visitBelow(desk, jail, ctx, path, { all }, (found) => {
        if ((kind !== undefined && found.kind !== kind) || !fits(found.way)) return true;
        isFull = entries.length === limit;
        if (!isFull) entries.push({ path: found.path, kind: found.kind });
        return !isFull;
      });
      const isCut = isFull || end.isCut;
      const rows = entries.map((entry) => `${inLine(entry.path)}${entry.kind === "folder" ? "/" : ""}`);
      const none = `Nothing fits ${pattern}; try ignoreCase, or a wider pattern such as *word*`;
      const text = [...(rows.length === 0 ? [none] : rows), ...(isCut ? ["… cut; there may be more"] : [])];
      return textResult(text.join("\n"), { entries, walked: end.walked, isCut });
    });
  },
});
