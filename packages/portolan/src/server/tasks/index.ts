export type { JobState, TaskJob, TaskMember, TaskMode, TaskPlan } from "./definition.ts";
export { type ServerTasksOptions, type TasksPerCaller, tasks } from "./extension.ts";
