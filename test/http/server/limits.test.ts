import { runRequirements } from "./requirement.ts";
import { limits } from "./sections/limits.ts";

runRequirements("limits", limits);
