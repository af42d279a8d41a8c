import type { Tool } from "../../protocol/types/index.ts";
import { canonicalJson, sha256 } from "../../storage/crypto.ts";

/**
 * What a tool's definition means, as text that is the same for equal definitions. Icons and `_meta` are left out:
 * neither reaches the model nor the consent, and servers change them at every listing (signed addresses, hints for
 * caches), which would bury the changes that matter.
 */
export function canonicalDefinition(tool: Tool): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return canonicalJson({ name, title, description, inputSchema, outputSchema, annotations });
}

/** What grants and pins of a tool are bound to. */
export function definitionDigest(tool: Tool): Promise<string> {
  return sha256(canonicalDefinition(tool));
}
