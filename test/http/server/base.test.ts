import { runRequirements } from "./requirement.ts";
import { base } from "./sections/base.ts";

runRequirements("requirements of every transport", base);
