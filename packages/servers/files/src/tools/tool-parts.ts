import type { Context, JsonSchema, ToolDefinition } from "portolan/server";
import { string } from "portolan-server-kit";
import type { Desk } from "../workspace.ts";

/** Makes a tool for a desk. */
export type MakeTool<I, O> = (desk: Desk) => ToolDefinition<I, O, undefined>;

/** Asks the user, where this server asks and the client can; true where nobody is asked. */
export async function isAgreed(desk: Desk, ctx: Context, message: string): Promise<boolean> {
  if (!desk.settings.ask || !ctx.mayAsk("elicitation.form")) return true;
  return ctx.confirm("agree", message);
}

/** A name in a line of text: one with a line break or the like is quoted. */
export function inLine(name: string): string {
  // Control characters are what the expression is about.
  return [...name].some((character) => character < " " || character === "\u007f") ? JSON.stringify(name) : name;
}

export function inBytes(size: number): string {
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
  "Path relative to the served folder (with several folders, it begins with the name of one), or absolute inside it",
);

/** What kinds of entries there are. */
export const kindSchema: JsonSchema = {
  enum: ["file", "folder", "link", "other"],
  description: "link: points elsewhere; other: a pipe, socket or device, which cannot be used",
};
