import { runRequirements } from "./requirement.ts";
import { ways } from "./sections/ways.ts";

runRequirements("ways", ways);
