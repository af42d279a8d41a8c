import { runRequirements } from "./requirement.ts";
import { subscriptions } from "./sections/subscriptions.ts";

runRequirements("subscriptions", subscriptions);
