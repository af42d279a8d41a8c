import { readFile } from "node:fs/promises";

/** Reads the text of a file. */
export function readText(file: URL): Promise<string> {
  return readFile(file, "utf8");
}
