export type {
  ConsoleOptions,
  ConsoleTools,
  HostParts,
  RunningConsole,
  ServerChange,
  SignInWatch,
  ToolOptions,
  TypedServer,
} from "./options.ts";
export { startConsole } from "./start.ts";
