import { runRequirements } from "./requirement.ts";
import { ways } from "./sections/connections.ts";

runRequirements("ways", ways);
