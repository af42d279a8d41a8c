import { runRequirements } from "./requirement.ts";
import { utilities } from "./sections/utilities.ts";

runRequirements("utilities", utilities);
