import { rename } from "node:fs/promises";
import { ToolError } from "portolan/server";
import { annotations, boolean, object, string, textResult } from "portolan-server-kit";
import { withReasons } from "../failures.ts";
import { notThere } from "../jail/jail.ts";
import { alreadyThere, moveToFree, statOf } from "../put.ts";
import { pathSchema } from "../schema.ts";
import { inBytes, isAgreed, type MakeTool } from "./common.ts";

interface Input {
  from: string;
  to: string;
  overwrite?: boolean;
}

interface Output {
  from: string;
  to: string;
  replaced: boolean;
}

export const moveTool: MakeTool<Input, Output> = (desk) => ({
  title: "Move or rename",
  description:
    "Moves or renames a file or folder. to is the new path itself, not a folder to put it into; folders it needs are made. A file there is replaced only with overwrite: true.",
  input: object({ from: pathSchema, to: pathSchema, overwrite: boolean("Replace the file at to if it exists") }, [
    "overwrite",
  ]),
  output: object({ from: string("Where it was"), to: string("Where it is"), replaced: boolean("A file was replaced") }),
  annotations: annotations.destroys,
  run({ from, to, overwrite = false }, ctx) {
    return withReasons(`${from} to ${to}`, async () => {
      const jail = await desk.jailFor(ctx);
      const follow = false;
      return jail.atEntry(from, { follow }, async (source, name, old) => {
        const moved = await statOf(source, name);
        if (!moved) throw notThere(old.path);
        const target = await jail.locate(to, { follow });
        const there = target.missing.length > 0 ? undefined : await jail.atEntry(to, { follow }, statOf);
        if (there && !(overwrite && there.isFile() && moved.isFile())) {
          if (there.isDirectory()) throw new ToolError(`${target.path} is a folder; give the whole new path`);
          throw alreadyThere(target.path);
        }
        if (there) {
          const question = `Replace ${target.path} (${inBytes(there.size)}) by ${old.path} (${inBytes(moved.size)})?`;
          if (!(await isAgreed(desk, ctx, question))) return ctx.cancelled("Nothing was moved.");
        }
        return jail.atEntry(to, { follow, make: true }, async (folder, newName, place) => {
          await Promise.all([source.check(), folder.check()]);
          if (there) await rename(source.at(name), folder.at(newName));
          else await moveToFree(source, name, folder, newName, place.path);
          const output = { from: old.path, to: place.path, replaced: there !== undefined };
          return textResult(`Moved ${old.path} to ${place.path}`, output);
        });
      });
    });
  },
});
