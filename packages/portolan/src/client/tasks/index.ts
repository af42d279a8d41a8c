// The types that TypeScript infers for a user's exports are named through this entry, so a program must have it.

export type { TaskDialect } from "../../protocol/tasks.ts";
export type {} from "../index.ts";
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
