import { runRequirements } from "./requirement.ts";
import { headers } from "./sections/headers.ts";

runRequirements("headers", headers);
