export type { AppChannel, AppEnd, AppSession, AppState, OpenAppOptions } from "./api.ts";
export type { AppTool } from "./app-tools.ts";
export type { AppContext } from "./context.ts";
export type { AppFile } from "./files.ts";
export { openApp } from "./open.ts";
export {
  type AppDisplayMode,
  type AppSurroundings,
  apps,
  appUriOf,
} from "./protocol.ts";
export type { AppResource } from "./resource.ts";
export type { AppGrant, AppPermission, AppSources, DeclaredGrant } from "./sources.ts";
