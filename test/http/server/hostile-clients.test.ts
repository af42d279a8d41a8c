import { runRequirements } from "./requirement.ts";
import { hostileClients } from "./sections/hostile-clients.ts";

runRequirements("hostile-clients", hostileClients);
