import { runRequirements } from "./requirement.ts";
import { rounds } from "./sections/rounds.ts";
import { roundsEnd } from "./sections/rounds-end.ts";
import { watching } from "./sections/watching.ts";

runRequirements("multi round trips", rounds);
runRequirements("the end of rounds", roundsEnd);
runRequirements("subscriptions", watching);
