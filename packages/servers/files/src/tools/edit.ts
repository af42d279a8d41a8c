import { isUtf8 } from "node:buffer";
import { ToolError } from "portolan/server";
import { annotations, boolean, count, object, string, textResult } from "portolan-server-kit";
import { put } from "../disk/atomic-write.ts";
import { withReasons } from "../disk/system-errors.ts";
import { unifiedDiff } from "../text/diff.ts";
import { readBytes } from "../text/range.ts";
import { type Replacement, replaceIn } from "../text/replace.ts";
import { inBytes, type MakeTool, pathSchema } from "./tool-parts.ts";

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

export const editTool: MakeTool<Input, Output> = (desk) => ({
  title: "Edit a file",
  description:
    "Replaces parts of a text, one edit after the other; all of them are made or none. old must be in the file exactly, and once unless all is set. Line endings of the file are kept. dryRun shows the diff and writes nothing.",
  input: object(
    {
      path: pathSchema,
      edits: {
        type: "array",
        minItems: 1,
        maxItems: maxEdits,
        items: object(
          {
            old: { ...string("What is there now, with its white space"), minLength: 1 },
            new: string("What is to be there instead"),
            all: boolean("Replace it wherever it is"),
          },
          ["all"],
        ),
        description: "What to replace, in order",
      },
      dryRun: boolean("Only show what would change"),
    },
    ["dryRun"],
  ),
  output: object({
    path: string("The file"),
    replaced: count("How many places changed"),
    written: boolean("The file was changed"),
    diff: string("What changed, as a unified diff"),
  }),
  annotations: annotations.destroys,
  run({ path, edits, dryRun = false }, ctx) {
    return withReasons(path, async () => {
      const jail = await desk.jailFor(ctx);
      const { real } = await jail.locate(path);
      return desk.turns.take(real, async () => {
        const { handle, stats, place } = await jail.openFile(path);
        let before: string;
        try {
          const { writeBytes } = desk.settings.limits;
          if (stats.size > writeBytes) throw new ToolError(`${path}: can edit at most ${inBytes(writeBytes)}`);
          const bytes = await readBytes(handle, 0, stats.size, stats.size);
          if (!isUtf8(bytes)) throw new ToolError(`${path} is no UTF-8 text; write can replace it as a whole`);
          before = bytes.toString();
        } finally {
          await handle.close();
        }
        const { text: after, count: replaced } = replaceIn(before, edits);
        const written = !dryRun && after !== before;
        if (written) {
          await jail.atEntry(path, {}, (folder, name) =>
            put(folder, name, place.path, stats, (draft) => draft.writeFile(after)),
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
