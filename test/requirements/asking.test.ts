import { runRequirements } from "./requirement.ts";
import { asking } from "./sections/asking.ts";

runRequirements("roots, sampling and elicitation", asking);
