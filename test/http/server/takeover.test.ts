import { runRequirements } from "./requirement.ts";
import { takeover } from "./sections/takeover.ts";

runRequirements("takeover", takeover);
