import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { basename } from "node:path";
import { ToolError } from "portolan/server";
import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { explainSystemErrors, isTopName, type Kind, kindOf, notThere, uriOf } from "portolan-server-kit/files";
import { typeOfName } from "../disk/mime.ts";
import { type CreateTool, formatSize, kindSchema, pathSchema } from "./tool-parts.ts";

interface Input {
  path?: string;
}

interface Output {
  path: string;
  kind: Kind;
  uri?: string;
  size?: number;
  mimeType?: string;
  modified?: string;
  created?: string;
  permissions?: string;
  target?: string;
  folders?: string[];
  readOnly?: boolean;
}

export const infoTool: CreateTool<Input, Output> = (workspace) => ({
  title: "File information",
  description: "Shows size, times, kind and permissions of a file or folder. Without a path: the served folders.",
  input: object({ path: pathSchema }, ["path"]),
  output: object(
    {
      path: string("Path for other tools"),
      kind: kindSchema,
      uri: string("Resource URI"),
      size: count("Size in bytes"),
      mimeType: string("Media type, from the file name"),
      modified: string("ISO 8601"),
      created: string("ISO 8601"),
      permissions: string("Octal, such as 644"),
      target: string("Target of a link, if it is served"),
      folders: array(string("A real path"), "The served folders"),
      readOnly: boolean("True if nothing can be written"),
    },
    ["uri", "size", "mimeType", "modified", "created", "permissions", "target", "folders", "readOnly"],
  ),
  annotations: annotations.reads,
  run({ path = "." }, ctx) {
    return explainSystemErrors(path, async () => {
      const jail = await workspace.jailFor(ctx);
      const served = { folders: jail.roots.map(({ real }) => real), readOnly: workspace.settings.readOnly };
      if (jail.isTop(path) || (jail.emptiness !== undefined && isTopName(path))) {
        return answer({ path: ".", kind: "folder", ...served }, jail.emptiness);
      }
      const whole = await jail.locate(path).catch((reason) => {
        if (reason instanceof ToolError) return undefined;
        throw reason;
      });
      if (whole && whole.missing.length === 0 && whole.real === whole.root.real) {
        return jail.inFolder(path, async (folder, place) =>
          answer({ ...describe(await lstat(folder.at(".")), place.path, folder.real), ...served }),
        );
      }
      return jail.atEntry(path, { follow: false }, async (folder, name, place) => {
        if (place.missing.length > 0) throw notThere(place.path);
        const about = describe(await lstat(folder.at(name)), place.path, place.real);
        return answer({ ...about, ...(about.kind === "link" && whole && { target: whole.path }) });
      });
    });
  },
});

function describe(stats: Stats, path: string, real: string): Output {
  const kind = kindOf(stats);
  const mimeType = kind === "file" ? typeOfName(basename(real)) : undefined;
  return {
    path,
    kind,
    uri: uriOf(real),
    ...(kind === "file" && { size: stats.size }),
    ...(mimeType !== undefined && { mimeType }),
    modified: stats.mtime.toISOString(),
    created: stats.birthtime.toISOString(),
    permissions: (stats.mode & 0o777).toString(8),
  };
}

function answer(about: Output, emptiness?: string) {
  const { path, kind, size, modified, target, folders, readOnly } = about;
  const parts = [
    `${path}: ${kind}`,
    ...(size === undefined ? [] : [formatSize(size)]),
    ...(modified === undefined ? [] : [`changed ${modified}`]),
    ...(target === undefined ? [] : [`leads to ${target}`]),
    ...(folders === undefined ? [] : [`serving ${folders.join(", ") || "nothing"}${readOnly ? ", read only" : ""}`]),
    ...(emptiness === undefined ? [] : [emptiness]),
  ];
  return textResult(parts.join(", "), about);
}
