import { runRequirements } from "./requirement.ts";
import { stdio } from "./sections/stdio.ts";

runRequirements("stdio", stdio);
