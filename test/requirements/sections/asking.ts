import type { Requirement } from "../requirement.ts";
import { calls } from "./asking/calls.ts";
import { elicitation } from "./asking/elicitation.ts";
import { roots } from "./asking/roots.ts";
import { sampling } from "./asking/sampling.ts";

/** Requirements on requests of a server to its client. */
export const asking: readonly Requirement[] = [...roots, ...sampling, ...elicitation, ...calls];
