export type {
  ConsoleOptions,
  ConsoleTools,
  HostParts,
  RunningConsole,
  SignInWatch,
  ToolOptions,
  TypedServer,
} from "./options.ts";
export { startConsole } from "./start.ts";
