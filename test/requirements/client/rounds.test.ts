import { runRequirements } from "./requirement.ts";
import { rounds } from "./sections/rounds.ts";
import { roundsEnd } from "./sections/rounds-end.ts";
import { watching } from "./sections/watching.ts";

runRequirements("rounds of questions", rounds);
runRequirements("how rounds end", roundsEnd);
runRequirements("subscriptions", watching);
