import type { JsonSchema } from "portolan/server";
import { string } from "portolan-server-kit";

export const pathSchema: JsonSchema = string(
  "Path relative to the served folder (with several folders, it begins with the name of one), or absolute inside it",
);

/** What kinds of entries there are. */
export const kindSchema: JsonSchema = {
  enum: ["file", "folder", "link", "other"],
  description: "link: points elsewhere; other: a pipe, socket or device, which cannot be used",
};
