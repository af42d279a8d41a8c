import { runRequirements } from "./requirement.ts";
import { stateless } from "./sections/stateless.ts";

runRequirements("stateless", stateless);
