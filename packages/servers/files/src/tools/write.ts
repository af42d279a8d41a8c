import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ToolError } from "portolan/server";
import { annotations, boolean, count, object, string, textResult } from "portolan-server-kit";
import { alreadyThere, put, statOf } from "../disk/atomic-write.ts";
import { codeOf, withReasons } from "../disk/system-errors.ts";
import { fullPath } from "../jail/jail.ts";
import { uriOf } from "../jail/roots.ts";
import { inBytes, isAgreed, type MakeTool, pathSchema } from "./tool-parts.ts";

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

export const writeTool: MakeTool<WriteInput, WriteOutput> = (desk) => ({
  title: "Write a file",
  description:
    "Writes a whole file, with the folders it needs. A file that exists is replaced only with overwrite: true; to change a part of it use edit.",
  input: object(
    {
      path: pathSchema,
      text: string("The text of the file"),
      base64: { ...string("The bytes of the file, instead of text"), contentEncoding: "base64" },
      overwrite: boolean("Replace the file if it exists"),
    },
    ["text", "base64", "overwrite"],
  ),
  output: object({
    path: string("The file"),
    uri: string("Its address as a resource"),
    bytes: count("How many were written"),
    replaced: boolean("There was a file before"),
  }),
  annotations: annotations.overwrites,
  run(input, ctx) {
    const { path, overwrite = false } = input;
    return withReasons(path, async () => {
      const bytes = bytesOf(input);
      const { writeBytes } = desk.settings.limits;
      if (bytes.length > writeBytes) throw new ToolError(`${path}: expected at most ${inBytes(writeBytes)}`);
      const jail = await desk.jailFor(ctx);
      const target = await jail.locate(path);
      const old = target.missing.length > 0 ? undefined : await jail.atEntry(path, {}, statOf);
      if (old && !old.isFile()) throw new ToolError(`${target.path} is not a file; choose another name`);
      if (old && !overwrite) throw alreadyThere(target.path);
      if (old) {
        const question = `Replace ${target.path} (${inBytes(old.size)}) by ${inBytes(bytes.length)}?`;
        if (!(await isAgreed(desk, ctx, question))) return ctx.cancelled(`${target.path} stays as it is.`);
      }
      return desk.turns.take(fullPath(target), () =>
        jail.atEntry(path, { make: true }, async (folder, name, place) => {
          await put(folder, name, place.path, old, (handle) => handle.writeFile(bytes));
          const uri = uriOf(join(folder.real, name));
          const output = { path: place.path, uri, bytes: bytes.length, replaced: old !== undefined };
          return textResult(`${old ? "Replaced" : "Wrote"} ${place.path} (${inBytes(bytes.length)})`, output);
        }),
      );
    });
  },
});

function bytesOf({ path, text, base64 }: WriteInput): Buffer {
  if (text !== undefined && base64 === undefined) return Buffer.from(text);
  if (base64 === undefined || text !== undefined) throw new ToolError(`${path}: give text or base64`);
  const bytes = Buffer.from(base64, "base64");
  // Decoding skips what is none; written back it shows.
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

export const makeTool: MakeTool<MakeInput, MakeOutput> = (desk) => ({
  title: "Make a folder",
  description: "Makes a folder and those above it; one that is there already stays as it is.",
  input: object({ path: pathSchema }),
  output: object({ path: string("The folder"), made: boolean("It was not there before") }),
  annotations: annotations.sets,
  run({ path }, ctx) {
    return withReasons(path, async () => {
      const jail = await desk.jailFor(ctx);
      return jail.atEntry(path, { make: true }, async (folder, name, place) => {
        await folder.check();
        const made = await mkdir(folder.at(name)).then(
          () => true,
          (reason) => {
            if (codeOf(reason) === "EEXIST") return false;
            throw reason;
          },
        );
        if (!made && !(await statOf(folder, name))?.isDirectory()) {
          throw new ToolError(`${place.path} is there already and no folder; choose another name`);
        }
        return textResult(made ? `Made ${place.path}` : `${place.path} is there already`, { path: place.path, made });
      });
    });
  },
});
