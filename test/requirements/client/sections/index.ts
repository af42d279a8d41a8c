import type { Requirement } from "../requirement.ts";
import { base } from "./base.ts";
import { baseFaults } from "./base-faults.ts";
import { lifecycle } from "./lifecycle.ts";
import { negotiation } from "./negotiation.ts";
import { time } from "./time.ts";

/** All requirements by section. */
export const sections: { readonly [section: string]: readonly Requirement[] } = {
  base,
  baseFaults,
  lifecycle,
  negotiation,
  time,
};
