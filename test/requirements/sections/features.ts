import type { Requirement } from "../requirement.ts";
import { completion } from "./features/completion.ts";
import { failures } from "./features/failures.ts";
import { prompts } from "./features/prompts.ts";
import { resources } from "./features/resources.ts";

/** Requirements on resources, prompts and completion. */
export const features: readonly Requirement[] = [...resources, ...prompts, ...completion, ...failures];
