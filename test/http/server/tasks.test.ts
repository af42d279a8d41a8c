import { runRequirements } from "./requirement.ts";
import { tasksOfCallers } from "./sections/tasks.ts";

runRequirements("tasks of callers", tasksOfCallers);
