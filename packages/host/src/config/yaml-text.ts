import type { Document } from "yaml";
import { type Content, toPlain } from "./content.ts";
import { limits } from "./limits.ts";
import { malformed, tooMuch } from "./malformed.ts";

/** Loaded when the first such file is read. */
export const loadYaml = (): Promise<typeof import("yaml")> => import("yaml");

/** Reads YAML 1.2; a name that is there twice makes it malformed. */
export async function readYaml(text: string, file: string): Promise<Content> {
  const document = await readYamlDocument(text, file);
  return { value: toPlain(toMaps(document, file), file), repeated: [] };
}

/** The same as nodes that know where they stand. */
export async function readYamlDocument(text: string, file: string): Promise<Document.Parsed> {
  const { isScalar, parseDocument, visit } = await loadYaml();
  if (isTooDeep(text)) throw tooMuch(file, `expected at most ${limits.depth} levels`);
  const document = parseDocument(text, { prettyErrors: false, strict: true, uniqueKeys: false, merge: true });
  const [first] = document.errors;
  // The library's own words quote the text.
  if (first)
    throw malformed(file, text, first.pos[0], `malformed YAML, ${first.code.toLowerCase().replaceAll("_", " ")}`);
  // Not left to the library, which compares every name with every other.
  visit(document, {
    Map(_, { items }) {
      const names = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const offset = key.range?.[0] ?? 0;
        if (names.has(key.value)) throw malformed(file, text, offset, "malformed YAML, a name that is there before");
        names.add(key.value);
      }
    },
  });
  return document;
}

function toMaps(document: Document.Parsed, file: string): unknown {
  try {
    // The library counts what aliases would come to, and gives up before they do.
    return document.toJS({ mapAsMap: true });
  } catch {
    throw tooMuch(file, "expected aliases that exist, and not thousands of them");
  }
}

/** Counted roughly before anything is read, because reading is recursive: brackets, and dashes that begin a line. */
function isTooDeep(text: string): boolean {
  let open = 0;
  let dashes = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) open++;
    else if (code === 0x5d || code === 0x7d) open--;
    else if (code === 0x0a) dashes = 0;
    const next = text.charCodeAt(at + 1);
    // `- - -`, `? ? ?` and `: : :` on one line are one list or map in another.
    if ((code === 0x2d || code === 0x3f || code === 0x3a) && (next === 0x20 || next === 0x09)) dashes++;
    if (open > maxRough || dashes > maxRough) return true;
  }
  return deepestIndent(text) > maxRough * 16;
}

/** Strings may hold brackets too, so there is room above what the real bound is. */
const maxRough = 4 * limits.depth;

function deepestIndent(text: string): number {
  let deepest = 0;
  for (const [spaces] of text.matchAll(/^ +/gm)) deepest = Math.max(deepest, spaces.length);
  return deepest;
}
