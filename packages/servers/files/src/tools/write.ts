import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ToolError } from "portolan/server";
import { annotations, boolean, count, object, string, textResult } from "portolan-server-kit";
import {
  alreadyThere,
  explainSystemErrors,
  fullPath,
  statOf,
  systemCodeOf,
  uriOf,
  writeAtomically,
} from "portolan-server-kit/files";
import { type CreateTool, formatSize, isConfirmed, pathSchema } from "./tool-parts.ts";

interface WriteInput {
  path: string;
  text?: string;
  base64?: string;
  overwrite?: boolean;
}

interface WriteOutput {
  path: string;
  uri: string;
  bytes: number;
  replaced: boolean;
}

export const writeTool: CreateTool<WriteInput, WriteOutput> = (workspace) => ({
  title: "Write a file",
  description:
    "Writes a whole file and creates missing folders. An existing file is replaced only with overwrite: true; use edit to change a part of it.",
  input: object(
    {
      path: pathSchema,
      text: string("The text of the file"),
      base64: { ...string("The bytes of the file, instead of text"), contentEncoding: "base64" },
      overwrite: boolean("Replace an existing file"),
    },
    ["text", "base64", "overwrite"],
  ),
  output: object({
    path: string("The file"),
    uri: string("Resource URI"),
    bytes: count("Number of bytes written"),
    replaced: boolean("True if a file was replaced"),
  }),
  annotations: annotations.overwrites,
  run(input, ctx) {
    const { path, overwrite = false } = input;
    return explainSystemErrors(path, async () => {
      const bytes = bytesOf(input);
      const { writeBytes } = workspace.settings.limits;
      if (bytes.length > writeBytes) throw new ToolError(`${path}: expected at most ${formatSize(writeBytes)}`);
      const jail = await workspace.jailFor(ctx);
      const target = await jail.locate(path);
      const old = target.missing.length > 0 ? undefined : await jail.atEntry(path, {}, statOf);
      if (old && !old.isFile()) throw new ToolError(`${target.path} is not a file; choose another name`);
      if (old && !overwrite) throw alreadyThere(target.path);
      if (old) {
        const question = `Replace ${target.path} (${formatSize(old.size)}) with ${formatSize(bytes.length)}?`;
        if (!(await isConfirmed(workspace, ctx, question))) return ctx.cancelled(`${target.path} was not changed.`);
      }
      return workspace.mutex.run(fullPath(target), () =>
        jail.atEntry(path, { make: true }, async (folder, name, place) => {
          await writeAtomically(folder, name, place.path, old, (handle) => handle.writeFile(bytes));
          const uri = uriOf(join(folder.real, name));
          const output = { path: place.path, uri, bytes: bytes.length, replaced: old !== undefined };
          return textResult(`${old ? "Replaced" : "Wrote"} ${place.path} (${formatSize(bytes.length)})`, output);
        }),
      );
    });
  },
});

function bytesOf({ path, text, base64 }: WriteInput): Buffer {
  if (text !== undefined && base64 === undefined) return Buffer.from(text);
  if (base64 === undefined || text !== undefined) throw new ToolError(`${path}: expected either text or base64`);
  const bytes = Buffer.from(base64, "base64");
  // Decoding skips invalid characters; encoding again reveals them.
  const isSame = bytes.toString("base64").replace(/=+$/, "") === base64.replace(/\s/g, "").replace(/=+$/, "");
  if (!isSame) throw new ToolError(`${path}: base64: expected base64 with + and /, without other characters`);
  return bytes;
}

interface MakeInput {
  path: string;
}

interface MakeOutput {
  path: string;
  made: boolean;
}

export const makeTool: CreateTool<MakeInput, MakeOutput> = (workspace) => ({
  title: "Make a folder",
  description: "Creates a folder and its missing parents; an existing folder does not change.",
  input: object({ path: pathSchema }),
  output: object({ path: string("The folder"), made: boolean("True if the folder is new") }),
  annotations: annotations.sets,
  run({ path }, ctx) {
    return explainSystemErrors(path, async () => {
      const jail = await workspace.jailFor(ctx);
      return jail.atEntry(path, { make: true }, async (folder, name, place) => {
        await folder.check();
        const made = await mkdir(folder.at(name)).then(
          () => true,
          (reason) => {
            if (systemCodeOf(reason) === "EEXIST") return false;
            throw reason;
          },
        );
        if (!made && !(await statOf(folder, name))?.isDirectory()) {
          throw new ToolError(`${place.path} already exists and is not a folder; choose another name`);
        }
        return textResult(made ? `Created ${place.path}` : `${place.path} already exists`, { path: place.path, made });
      });
    });
  },
});
