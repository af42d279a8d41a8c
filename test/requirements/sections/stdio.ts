import type { Requirement } from "../requirement.ts";
import { clients } from "./stdio/clients.ts";
import { lines } from "./stdio/lines.ts";

/** Requirements on the stdio transport. */
export const stdio: readonly Requirement[] = [...lines, ...clients];
