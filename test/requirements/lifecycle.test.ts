import { runRequirements } from "./requirement.ts";
import { lifecycle } from "./sections/lifecycle.ts";

runRequirements("lifecycle", lifecycle);
