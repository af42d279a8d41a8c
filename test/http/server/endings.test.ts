import { runRequirements } from "./requirement.ts";
import { endings } from "./sections/endings.ts";

runRequirements("endings", endings);
