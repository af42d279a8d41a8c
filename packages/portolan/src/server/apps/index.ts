export { type App, type AppDomains, type AppOptions, type AppPermission, app, type ToolUi } from "./app.ts";
export { type AppsOptions, apps } from "./extension.ts";
