import { runRequirements } from "./requirement.ts";
import { base } from "./sections/base.ts";

runRequirements("what every transport has", base);
