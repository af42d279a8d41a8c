import { type JsonSchema, ToolError } from "portolan/server";
import { string } from "../kit.ts";
import { cut } from "./tools.ts";

/** A file as a model writes it. */
export interface WrittenFile {
  readonly content: string;
  readonly encoding?: "text" | "base64";
}

/** The members of a tool's input for a file; `encoding` is optional. */
export const fileInput: { readonly [name in "name" | "content" | "encoding"]: JsonSchema } = {
  name: string("Name of the file, such as notes.md", { pattern: "^[^/\\\\\\p{Cc}]{1,200}$" }),
  content: string("The content", { maxLength: 1_000_000 }),
  encoding: { enum: ["text", "base64"], description: "How content is written. Default: text" },
};

/** Characters of a file that the user sees before agreeing. */
const maxShown = 4_000;

/** Returns what the user sees of a file before agreeing. */
export function shownOf({ content, encoding = "text" }: WrittenFile): string {
  return encoding === "text" ? cut(content, maxShown) : "The content is not text.";
}

/** Returns the bytes of a file. Throws a `ToolError` for what is no base64. */
export function bytesOf({ content, encoding = "text" }: WrittenFile): Uint8Array<ArrayBuffer> {
  if (encoding === "text") return new TextEncoder().encode(content);
  const bytes = Buffer.from(content, "base64");
  // The decoder skips what is no base64.
  if (bytes.toString("base64").replace(/=+$/, "") !== content.replace(/\s|=+$/g, "")) {
    throw new ToolError("content: expected base64. Nothing was sent");
  }
  return new Uint8Array(bytes);
}
