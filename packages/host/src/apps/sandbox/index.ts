export {
  type AppOrigins,
  type SandboxHandler,
  type SandboxOptions,
  type SandboxPage,
  type SandboxRequest,
  type SandboxResponse,
  sandboxHandler,
} from "./handler.ts";
