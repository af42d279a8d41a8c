import { runRequirements } from "./requirement.ts";
import { extensions } from "./sections/extensions.ts";

runRequirements("extensions", extensions);
