import { runRequirements } from "./requirement.ts";
import { rounds } from "./sections/rounds.ts";

runRequirements("multi round trips", rounds);
