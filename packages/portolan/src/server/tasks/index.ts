export type { JobState, TaskJob, TaskMode, TaskPlan } from "./definition.ts";
export { type ServerTasksOptions, type TasksPerCaller, tasks } from "./extension.ts";
export { job } from "./job.ts";
