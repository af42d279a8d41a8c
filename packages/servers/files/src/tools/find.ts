import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { compileGlob } from "../disk/glob.ts";
import { explainSystemErrors } from "../disk/system-errors.ts";
import type { Kind } from "../disk/walk.ts";
import { type CreateTool, kindSchema, pathSchema, quoteControls } from "./tool-parts.ts";
import { unreadableLines, unreadableSchema, visitBelow } from "./visit.ts";

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
  unreadable?: number;
}

const defaultLimit = 200;

export const findTool: CreateTool<Input, Output> = (workspace) => ({
  title: "Find files by name",
  description:
    "Finds files and folders whose name matches a pattern: *.md, test-?.{js,ts}, or with folders src/**/index.ts. Use search to look into files.",
  input: object(
    {
      pattern: {
        ...string(
          "* and ? within a name, ** for any folders, [a-z], {a,b}. Without a slash it matches names at any depth",
        ),
        minLength: 1,
        maxLength: 500,
      },
      path: pathSchema,
      kind: { enum: ["file", "folder"], description: "Only entries of this kind" },
      ignoreCase: boolean("Ignore upper and lower case"),
      limit: count(`Maximum number. Default: ${defaultLimit}`, {
        minimum: 1,
        maximum: workspace.settings.limits.results,
      }),
      all: boolean("Also search folders that are normally skipped, such as node_modules"),
    },
    ["path", "kind", "ignoreCase", "limit", "all"],
  ),
  output: object(
    {
      entries: array(object({ path: string("Path for other tools"), kind: kindSchema }), "The matching entries"),
      walked: count("Number of visited entries"),
      isCut: boolean("True if there may be more: raise limit, or start in a subfolder with path"),
      unreadable: unreadableSchema,
    },
    ["unreadable"],
  ),
  annotations: annotations.reads,
  run({ pattern, path = ".", kind, ignoreCase = false, limit = defaultLimit, all = false }, ctx) {
    return explainSystemErrors(path, async () => {
      const jail = await workspace.jailFor(ctx);
      const fits = compileGlob(pattern, { ignoreCase });
      const entries: Output["entries"] = [];
      let isFull = false;
      const end = await visitBelow(workspace, jail, ctx, path, { all }, (found) => {
        if ((kind !== undefined && found.kind !== kind) || !fits(found.segments)) return true;
        isFull = entries.length === limit;
        if (!isFull) entries.push({ path: found.path, kind: found.kind });
        return !isFull;
      });
      const isCut = isFull || end.isCut;
      const rows = entries.map((entry) => `${quoteControls(entry.path)}${entry.kind === "folder" ? "/" : ""}`);
      const none = `Nothing matches ${pattern}; try ignoreCase, or a wider pattern such as *word*`;
      const text = [...(rows.length === 0 ? [none] : rows), ...(isCut ? ["… cut; there may be more"] : [])];
      const { unreadable, walked } = end;
      return textResult([...text, ...unreadableLines(unreadable)].join("\n"), {
        ...{ entries, walked, isCut },
        ...(unreadable > 0 && { unreadable }),
      });
    });
  },
});
