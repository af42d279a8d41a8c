import type { Requirement } from "../requirement.ts";
import { calling } from "./tools/calling.ts";
import { listing } from "./tools/listing.ts";

/** Requirements on tools. */
export const tools: readonly Requirement[] = [...listing, ...calling];
