import { runRequirements } from "./requirement.ts";
import { tools } from "./sections/tools.ts";

runRequirements("tools", tools);
