import { runRequirements } from "./requirement.ts";
import { resumption } from "./sections/resumption.ts";

runRequirements("resumption", resumption);
