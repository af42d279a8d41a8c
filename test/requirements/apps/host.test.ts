import { hostRequirements } from "./host-section.ts";
import { runRequirements } from "./requirement.ts";

runRequirements("apps in the host", hostRequirements);
