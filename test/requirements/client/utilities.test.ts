import { runRequirements } from "./requirement.ts";
import { caching } from "./sections/caching.ts";
import { pages } from "./sections/pages.ts";
import { utilities } from "./sections/utilities.ts";

runRequirements("utilities", utilities);
runRequirements("pages", pages);
runRequirements("caching", caching);
