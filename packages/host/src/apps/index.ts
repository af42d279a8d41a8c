export type { AppContext } from "./context.ts";
export {
  type AppDisplayMode,
  type AppSurroundings,
  apps,
  appUriOf,
} from "./protocol.ts";
export type { AppResource } from "./resource.ts";
export {
  type AppChannel,
  type AppEnd,
  type AppSession,
  type AppState,
  type OpenAppOptions,
  openApp,
} from "./session.ts";
export type { AppGrant, AppPermission, AppSources, DeclaredGrant } from "./sources.ts";
