import { type Content, toPlain } from "./content.ts";
import { limits } from "./limits.ts";
import { malformedAt, tooMuch } from "./malformed.ts";

/** Loaded when the first such file is read. */
export const loadToml = (): Promise<typeof import("smol-toml")> => import("smol-toml");

/** Reads TOML; a name that is there twice makes it malformed. */
export async function readToml(text: string, file: string): Promise<Content> {
  const { parse, TomlError } = await loadToml();
  let value: unknown;
  try {
    value = parse(text, { maxDepth: limits.depth });
  } catch (error) {
    if (!(error instanceof TomlError)) throw tooMuch(file, "too large or too deep a TOML file");
    throw malformedAt(file, error.line, error.column, `malformed TOML, ${firstLine(error.message)}`);
  }
  return { value: toPlain(value, file), repeated: [] };
}

/** The lines below quote the text. */
function firstLine(message: string): string {
  return (message.split("\n")[0] ?? "").replace("Invalid TOML document: ", "").replace(/["'`.].*$/, "");
}
