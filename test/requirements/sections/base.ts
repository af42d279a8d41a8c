import type { Requirement } from "../requirement.ts";
import { batches } from "./base/batches.ts";
import { codes } from "./base/codes.ts";
import { faults } from "./base/faults.ts";
import { messages } from "./base/messages.ts";
import { metadata } from "./base/metadata.ts";

/** The base protocol, and peers that violate it. */
export const base: readonly Requirement[] = [...messages, ...batches, ...codes, ...metadata, ...faults];
