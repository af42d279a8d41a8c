import type { Context, JsonSchema, ToolDefinition } from "portolan/server";
import { string } from "portolan-server-kit";
import type { Workspace } from "../workspace.ts";

/** Creates a tool for a workspace. */
export type CreateTool<I, O> = (workspace: Workspace) => ToolDefinition<I, O, undefined>;

/** Asks the user if questions are on and the client can ask; returns true otherwise. */
export async function isConfirmed(workspace: Workspace, ctx: Context, message: string): Promise<boolean> {
  if (!workspace.settings.ask || !ctx.mayAsk("elicitation.form")) return true;
  return ctx.confirm("agree", message);
}

/** Quotes a name that contains control characters, such as line breaks. */
export function quoteControls(name: string): string {
  return [...name].some((character) => character < " " || character === "\u007f") ? JSON.stringify(name) : name;
}

export function formatSize(size: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let value = size;
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export const pathSchema: JsonSchema = string(
  "Path relative to the served folder (if there are several, it starts with the name of one), or an absolute path inside it",
);

export const kindSchema: JsonSchema = {
  enum: ["file", "folder", "link", "other"],
  description: "link: a symbolic link; other: a pipe, socket or device, which cannot be used",
};
