import { createServer, type Server } from "portolan/server";
import { openRoots } from "./jail/roots.ts";
import { type FilesOptions, toSettings } from "./options.ts";
import { withResources } from "./resources.ts";
import { editTool } from "./tools/edit.ts";
import { findTool } from "./tools/find.ts";
import { infoTool } from "./tools/info.ts";
import { listTool } from "./tools/list.ts";
import { copyTool, moveTool } from "./tools/move.ts";
import { readTool } from "./tools/read.ts";
import { removeTool } from "./tools/remove.ts";
import { searchTool } from "./tools/search.ts";
import { treeTool } from "./tools/tree.ts";
import { makeTool, writeTool } from "./tools/write.ts";
import { Desk } from "./workspace.ts";

/** What this server calls itself. */
export const info = { name: "portolan-files", version: "0.1.0", title: "Files" } as const;

/** Makes a server of the files below some folders; throws if one of them is not there. */
export function createFiles(options: FilesOptions): Server {
  const { folders = [] } = options;
  const settings = toSettings(options);
  if (folders.length === 0 && settings.clientRoots !== "provide") {
    throw new Error("Expected at least one folder to serve");
  }
  const roots = openRoots(folders);
  const desk = new Desk(roots, settings);
  const names = roots.map(({ name, real }) => `${name} (${real})`).join(", ");
  const where =
    roots.length === 1
      ? `Paths are relative to ${roots[0]?.real}.`
      : `Paths begin with the name of a served folder: ${names || "info tells which"}.`;
  const may = settings.readOnly ? "Nothing can be written." : "Prefer edit to write for files that exist.";
  const reading = createServer(info, { instructions: `Files and folders. ${where} ${may}` })
    .tool("list", listTool(desk))
    .tool("tree", treeTool(desk))
    .tool("find", findTool(desk))
    .tool("search", searchTool(desk))
    .tool("read", readTool(desk))
    .tool("info", infoTool(desk));
  const whole = settings.readOnly
    ? reading
    : reading
        .tool("write", writeTool(desk))
        .tool("edit", editTool(desk))
        .tool("move", moveTool(desk))
        .tool("copy", copyTool(desk))
        .tool("make", makeTool(desk))
        .tool("remove", removeTool(desk));
  return withResources(whole, roots, desk);
}
