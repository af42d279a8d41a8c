// The types that TypeScript infers for a user's exports are named through this entry, so a program must have it.
export type {} from "../index.ts";

export type { JobState, TaskJob, TaskMode, TaskPlan } from "./definition.ts";
export { type ServerTasksOptions, type TasksPerCaller, tasks } from "./extension.ts";
export { job } from "./job.ts";
