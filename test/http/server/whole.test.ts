import { runRequirements } from "./requirement.ts";
import { whole } from "./sections/whole.ts";

runRequirements("the server as a whole", whole);
