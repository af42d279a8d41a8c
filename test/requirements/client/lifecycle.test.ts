import { runRequirements } from "./requirement.ts";
import { lifecycle } from "./sections/lifecycle.ts";
import { negotiation } from "./sections/negotiation.ts";
import { time } from "./sections/time.ts";

runRequirements("lifecycle", lifecycle);
runRequirements("version negotiation", negotiation);
runRequirements("time limits", time);
