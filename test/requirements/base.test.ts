import { runRequirements } from "./requirement.ts";
import { base } from "./sections/base.ts";

runRequirements("base protocol", base);
