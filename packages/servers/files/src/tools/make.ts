import { mkdir } from "node:fs/promises";
import { ToolError } from "portolan/server";
import { annotations, boolean, object, string, textResult } from "portolan-server-kit";
import { codeOf, withReasons } from "../failures.ts";
import { statOf } from "../put.ts";
import { pathSchema } from "../schema.ts";
import type { MakeTool } from "./common.ts";

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
