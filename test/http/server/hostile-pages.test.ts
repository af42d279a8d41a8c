import { runRequirements } from "./requirement.ts";
import { hostilePages } from "./sections/hostile-pages.ts";

runRequirements("hostile-pages", hostilePages);
