import { runRequirements } from "./requirement.ts";
import { taskRequirements } from "./sections/tasks.ts";

runRequirements("tasks", taskRequirements);
