import { isUtf8 } from "node:buffer";
import { ToolError } from "portolan/server";
import { annotations, boolean, count, object, string, textResult } from "portolan-server-kit";
import { explainSystemErrors, unifiedDiff, writeAtomically } from "portolan-server-kit/files";
import { readBytes } from "../text/range.ts";
import { type Replacement, replaceIn } from "../text/replace.ts";
import { type CreateTool, formatSize, pathSchema } from "./tool-parts.ts";

interface Input {
  path: string;
  edits: Replacement[];
  dryRun?: boolean;
}

interface Output {
  path: string;
  replaced: number;
  written: boolean;
  diff: string;
}

const maxEdits = 100;
const maxDiff = 50_000;

export const editTool: CreateTool<Input, Output> = (workspace) => ({
  title: "Edit a file",
  description:
    "Replaces parts of a text file; applies all edits in order, or none. old must match exactly, and only once unless all is set. Line endings of the file are kept. dryRun shows the diff and writes nothing.",
  input: object(
    {
      path: pathSchema,
      edits: {
        type: "array",
        minItems: 1,
        maxItems: maxEdits,
        items: object(
          {
            old: { ...string("Text to replace, with its exact white space"), minLength: 1 },
            new: string("Replacement"),
            all: boolean("Replace all occurrences"),
          },
          ["all"],
        ),
        description: "The edits, in order",
      },
      dryRun: boolean("Only show the diff"),
    },
    ["dryRun"],
  ),
  output: object({
    path: string("The file"),
    replaced: count("Number of replacements"),
    written: boolean("True if the file was written"),
    diff: string("The changes as a unified diff"),
  }),
  annotations: annotations.destroys,
  run({ path, edits, dryRun = false }, ctx) {
    return explainSystemErrors(path, async () => {
      const jail = await workspace.jailFor(ctx);
      const { real } = await jail.locate(path);
      return workspace.mutex.run(real, async () => {
        const { handle, stats, place } = await jail.openFile(path);
        const { writeBytes, replaced: places } = workspace.settings.limits;
        let before: string;
        try {
          if (stats.size > writeBytes)
            throw new ToolError(`${path}: the file is larger than ${formatSize(writeBytes)}, the limit for an edit`);
          const bytes = await readBytes(handle, 0, stats.size, stats.size);
          if (!isUtf8(bytes)) throw new ToolError(`${path} is not UTF-8 text; write can replace the whole file`);
          before = bytes.toString();
        } finally {
          await handle.close();
        }
        const { text: after, count: replaced } = await replaceIn(before, edits, {
          ...{ bytes: writeBytes, places, signal: ctx.signal },
        });
        const written = !dryRun && after !== before;
        if (written) {
          await jail.atEntry(path, {}, (folder, name) =>
            writeAtomically(folder, name, place.path, stats, (draft) => draft.writeFile(after)),
          );
        }
        const diff = shortened(unifiedDiff(place.path, before, after));
        const what = after === before ? "Nothing changes" : dryRun ? "Would change" : "Changed";
        return textResult(`${what} in ${place.path}\n${diff}`.trimEnd(), { path: place.path, replaced, written, diff });
      });
    });
  },
});

function shortened(diff: string): string {
  return diff.length <= maxDiff ? diff : `${diff.slice(0, maxDiff)}\n… (${diff.length - maxDiff} more characters)`;
}
