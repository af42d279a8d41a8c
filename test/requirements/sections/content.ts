import type { Requirement } from "../requirement.ts";
import { blocks } from "./content/blocks.ts";
import { older } from "./content/older.ts";
import { schemas } from "./content/schemas.ts";

/** Requirements on content, annotations, icons and JSON Schema, and on messages to older revisions. */
export const content: readonly Requirement[] = [...blocks, ...schemas, ...older];
