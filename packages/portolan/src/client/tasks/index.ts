export type { TaskDialect } from "../../protocol/tasks.ts";
export type { TaskState } from "./state.ts";
export {
  type ClientTasksOptions,
  hasTasks,
  listTasks,
  type ResumeTaskOptions,
  resumeTask,
  type StartToolOptions,
  startTool,
  storedTasks,
  type TaskRef,
  type ToolTask,
  tasks,
} from "./tasks.ts";
