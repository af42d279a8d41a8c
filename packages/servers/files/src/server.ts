import { createServer, type Server } from "portolan/server";
import { createDiskReports, reportingDisk } from "portolan-server-kit";
import { openRoots } from "portolan-server-kit/files";
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
import { Workspace } from "./workspace.ts";

export const info = { name: "portolan-files", version: "0.1.0", title: "Files" } as const;

/** Creates a server for the files below some folders; throws if one of them does not exist. */
export function createFiles(options: FilesOptions): Server {
  const { folders = [] } = options;
  const settings = toSettings(options);
  if (folders.length === 0 && settings.clientRoots !== "provide") {
    throw new Error("Expected at least one folder to serve");
  }
  const roots = openRoots(folders);
  const workspace = new Workspace(roots, settings);
  const names = roots.map(({ name, real }) => `${name} (${real})`).join(", ");
  const where =
    roots.length === 1
      ? `Paths are relative to ${roots[0]?.real}.`
      : `Paths start with the name of a served folder: ${names || "the tool info lists them"}.`;
  const writing = settings.readOnly ? "Nothing can be written." : "Prefer edit to write for existing files.";
  const reading = createServer(info, { instructions: `Files and folders. ${where} ${writing}` })
    .tool("list", listTool(workspace))
    .tool("tree", treeTool(workspace))
    .tool("find", findTool(workspace))
    .tool("search", searchTool(workspace))
    .tool("read", readTool(workspace))
    .tool("info", infoTool(workspace));
  const report = createDiskReports(info.name);
  const whole = settings.readOnly
    ? reading
    : reading
        .tool("write", reportingDisk(writeTool(workspace), report))
        .tool("edit", reportingDisk(editTool(workspace), report))
        .tool("move", reportingDisk(moveTool(workspace), report))
        .tool("copy", reportingDisk(copyTool(workspace), report))
        .tool("make", reportingDisk(makeTool(workspace), report))
        .tool("remove", reportingDisk(removeTool(workspace), report));
  return withResources(whole, roots, workspace);
}
