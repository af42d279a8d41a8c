import type { Requirement } from "../requirement.ts";
import { caching } from "./utilities/caching.ts";
import { cancelling } from "./utilities/cancelling.ts";
import { logging } from "./utilities/logging.ts";
import { pages } from "./utilities/pages.ts";
import { pings } from "./utilities/pings.ts";
import { progress } from "./utilities/progress.ts";

/** Requirements on the utilities. */
export const utilities: readonly Requirement[] = [
  ...pages,
  ...progress,
  ...cancelling,
  ...pings,
  ...logging,
  ...caching,
];
