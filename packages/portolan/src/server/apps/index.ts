// The types that TypeScript infers for a user's exports are named through this entry, so a program must have it.
export type {} from "../index.ts";

export { type App, type AppDomains, type AppOptions, type AppPermission, app, type ToolUi } from "./app.ts";
export { type AppsOptions, apps } from "./extension.ts";
