import { runRequirements } from "./requirement.ts";
import { connections } from "./sections/connections.ts";

runRequirements("connections", connections);
