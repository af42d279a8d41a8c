import { dirname, join } from "node:path";
import { type RunningConsole, startConsole } from "portolan-console";
import type { HostOptions, ServerEntry } from "portolan-host";
import type { Model } from "portolan-host/models";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { type OpenedHost, openHost } from "../servers/host.ts";
import { authFor } from "../servers/sign-in.ts";
import { version } from "../version.ts";
import { createConsoleTools, type SavedTargets } from "./tools.ts";

/** The choices that a command makes for its console. */
export interface CommandConsoleOptions extends Pick<HostOptions, "policy" | "roots"> {
  readonly servers: readonly ServerEntry[];
  readonly models: readonly Model[];
  /** The private folder of the console. At most one process serves it. */
  readonly folder: string;
  readonly port?: number | undefined;
  /** Tells this way of starting a console from others. */
  readonly purpose?: string;
  readonly savedTargets?: SavedTargets;
}

/** A console that a command serves, or that another process serves already. */
export interface OpenedConsole extends Pick<RunningConsole, "origin" | "isElsewhere" | "project" | "purpose"> {
  /** Makes an address that opens one session. */
  openAddress(): string;
  /** Makes a private file that redirects a browser to the console, and returns the address of the file. */
  browserAddress(): string;
  close(): Promise<void>;
}

/** Serves a console over these servers, and starts those that the person trusts. */
export async function openConsole(
  context: CommandContext,
  { servers, models, folder, port, purpose, savedTargets, ...options }: CommandConsoleOptions,
): Promise<OpenedConsole> {
  const { system } = context;
  let opened: OpenedHost | undefined;
  const running = await startConsole({
    async createHost(parts) {
      opened = await openHost(context, servers, { auth: (entry) => authFor(context, entry), ...options, ...parts });
      return opened.host;
    },
    models,
    tools: createConsoleTools(context, servers, () => opened?.host, savedTargets),
    folder,
    project: system.cwd,
    assets: join(dirname(system.self), "console"),
    version,
    isSandbox: system.env["PORTOLAN_SANDBOX"] === "1",
    ...(port !== undefined && { port }),
    ...(purpose !== undefined && { purpose }),
    onError: (error) => context.warn(explain(error)),
  }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EADDRINUSE") throw cause;
    throw new Failure("usage", `port ${port} is in use`, { next: "use any free port: --port 0", cause });
  });
  const { host } = opened ?? {};
  // The page shows which of them start, and why one does not.
  for (const { name, state } of host?.servers ?? []) if (state === "idle") host?.start(name).catch(() => {});
  return {
    ...{ origin: running.origin, isElsewhere: running.isElsewhere },
    ...{ project: running.project, purpose: running.purpose },
    openAddress: () => running.openAddress(),
    browserAddress: () => running.browserAddress(),
    async close() {
      try {
        await running.close();
      } finally {
        await opened?.close();
      }
    },
  };
}

/** Returns the sentence of an error with that of its cause, which says what failed. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
