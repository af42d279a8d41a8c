import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { explainSystemErrors, type Kind } from "portolan-server-kit/files";
import { compileGlob } from "../disk/glob.ts";
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
  why?: string;
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
      isCut: boolean("True if there may be more"),
      why: string("Why the result is incomplete, and what to do"),
      unreadable: unreadableSchema,
    },
    ["why", "unreadable"],
  ),
  annotations: annotations.reads,
  run({ pattern, path = ".", kind, ignoreCase = false, limit = defaultLimit, all = false }, ctx) {
    return explainSystemErrors(path, async () => {
      const jail = await workspace.jailFor(ctx);
      const fits = compileGlob(pattern, { ignoreCase });
      const entries: Output["entries"] = [];
      const { searchMs } = workspace.settings.limits;
      const deadline = performance.now() + searchMs;
      let isFull = false;
      let isLate = false;
      const end = await visitBelow(workspace, jail, ctx, path, { all }, (found) => {
        isLate = performance.now() > deadline;
        if (isLate) return false;
        if ((kind !== undefined && found.kind !== kind) || !fits(found.segments)) return true;
        isFull = entries.length === limit;
        if (!isFull) entries.push({ path: found.path, kind: found.kind });
        return !isFull;
      });
      const why = whyCut(isFull, isLate, end.isCut, searchMs);
      const isCut = why !== undefined;
      const rows = entries.map((entry) => `${quoteControls(entry.path)}${entry.kind === "folder" ? "/" : ""}`);
      const none = `Nothing matches ${pattern}; try ignoreCase, or a wider pattern such as *word*`;
      const text = [...(rows.length === 0 ? [none] : rows), ...(isCut ? [`… incomplete: ${why}`] : [])];
      const { unreadable, walked } = end;
      return textResult([...text, ...unreadableLines(unreadable)].join("\n"), {
        ...{ entries, walked, isCut },
        ...(why !== undefined && { why }),
        ...(unreadable > 0 && { unreadable }),
      });
    });
  },
});

function whyCut(isFull: boolean, isLate: boolean, isLarge: boolean, searchMs: number): string | undefined {
  if (isFull) return "more entries than limit; raise limit, or start in a subfolder with path";
  if (isLate) return `stopped after ${searchMs} ms; start in a subfolder with path, or use a simpler pattern`;
  return isLarge ? "too many files; start in a subfolder with path" : undefined;
}
