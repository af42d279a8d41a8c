import type { Requirement } from "../requirement.ts";
import { asking } from "./asking.ts";
import { base } from "./base.ts";
import { baseFaults } from "./base-faults.ts";
import { caching } from "./caching.ts";
import { codes } from "./codes.ts";
import { content } from "./content.ts";
import { extensions } from "./extensions.ts";
import { features } from "./features.ts";
import { forms } from "./forms.ts";
import { lifecycle } from "./lifecycle.ts";
import { negotiation } from "./negotiation.ts";
import { pages } from "./pages.ts";
import { rounds } from "./rounds.ts";
import { roundsEnd } from "./rounds-end.ts";
import { sampling } from "./sampling.ts";
import { schemas } from "./schemas.ts";
import { skillRequirements } from "./skills.ts";
import { stdio } from "./stdio.ts";
import { taskRequirements } from "./tasks.ts";
import { time } from "./time.ts";
import { tools } from "./tools.ts";
import { utilities } from "./utilities.ts";
import { watching } from "./watching.ts";

/** All requirements by section. */
export const sections: { readonly [section: string]: readonly Requirement[] } = {
  asking,
  base,
  baseFaults,
  caching,
  codes,
  content,
  extensions,
  features,
  forms,
  lifecycle,
  negotiation,
  pages,
  rounds,
  roundsEnd,
  sampling,
  schemas,
  stdio,
  skillRequirements,
  taskRequirements,
  time,
  tools,
  utilities,
  watching,
};
