import { runRequirements } from "./requirement.ts";
import { schemas } from "./sections/schemas.ts";
import { tools } from "./sections/tools.ts";

runRequirements("tools", tools);
runRequirements("schemas of tools", schemas);
