import { runRequirements } from "./requirement.ts";
import { tasks } from "./sections/tasks.ts";

runRequirements("tasks", tasks);
