import { mkdir } from "node:fs/promises";
import { ToolError } from "portolan/server";
import { codeOf, withReasons } from "../failures.ts";
import { statOf } from "../put.ts";
import { flag, object, pathSchema, text } from "../schema.ts";
import { type MakeTool, says } from "./common.ts";

interface Input {
  path: string;
}

interface Output {
  path: string;
  made: boolean;
}

export const makeTool: MakeTool<Input, Output> = (desk) => ({
  title: "Make a folder",
  description: "Makes a folder and those above it; one that is there already stays as it is.",
  input: object({ path: pathSchema }),
  output: object({ path: text("The folder"), made: flag("It was not there before") }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
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
        return says(made ? `Made ${place.path}` : `${place.path} is there already`, { path: place.path, made });
      });
    });
  },
});
