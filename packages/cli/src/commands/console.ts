import { createHash } from "node:crypto";
import { join } from "node:path";
import { findServers, policyOf } from "../chat/model-run.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { type OpenedConsole, openConsole } from "../console/open-console.ts";
import { openPage } from "../console/open-page.ts";
import { Failure } from "../failure.ts";
import { findModels } from "../models.ts";
import { parsePort } from "../serve/listen.ts";
import { rootsOf } from "../servers/host.ts";
import { quoteCommand } from "../terminal/escape.ts";

/** Serves the web console on this machine until it is stopped. */
export async function run(
  context: CommandContext,
  names: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system, state } = context;
  const port = typeof flags["port"] === "string" ? parsePort(flags["port"], "--port") : undefined;
  const models = await findModels(system, flags);
  const server = [...names, ...(Array.isArray(flags["server"]) ? flags["server"] : [])];
  const servers = await findServers(context, { ...flags, ...(server.length > 0 && { server }) });
  const opened = await openConsole(context, {
    servers,
    models,
    folder: join(state.folder, "console"),
    port,
    purpose: purposeOf(context, names, flags),
    policy: policyOf(flags),
    ...rootsOf(context, flags),
  });
  try {
    const { isElsewhere } = opened;
    if (isElsewhere) refuseOther(context, opened, { port, purpose: purposeOf(context, names, flags) });
    tell(context, opened.openAddress(), isElsewhere);
    if (flags["open"] !== false) openPage(context, () => opened.browserAddress());
    if (!isElsewhere) await context.untilStopped();
  } finally {
    await opened.close();
  }
  return undefined;
}

/** Without servers, rules or other choices, any console of the project will do. */
const anyPurpose = "";

/** Returns a digest of what the command line chooses for a console: it may contain secrets. */
function purposeOf({ command }: CommandContext, names: readonly string[], flags: Flags): string {
  const { open: _, port: __, json: ___, color: ____, ...others } = flags;
  const chosen = Object.entries(others).filter(([, value]) => value !== undefined && value !== false);
  if (names.length + command.length + chosen.length === 0) return anyPurpose;
  const text = JSON.stringify([names, command, chosen.sort(([a], [b]) => (a < b ? -1 : 1))]);
  return createHash("sha256").update(text).digest("hex");
}

/** Fails if the console that runs already is not the one that the command line asks for: what it says would be ignored. */
function refuseOther(
  { system }: CommandContext,
  running: OpenedConsole,
  { port = 0, purpose }: { readonly port: number | undefined; readonly purpose: string },
): void {
  const { origin, project } = running;
  const isSameProject = project === system.cwd;
  const isSamePurpose = purpose === anyPurpose || purpose === running.purpose;
  const isSamePort = port === 0 || port === Number(new URL(origin).port);
  if (isSameProject && isSamePurpose && isSamePort) return;
  const what = project === undefined ? "a console" : `a console for ${project}`;
  const show = isSameProject ? "portolan console" : `${quoteCommand(["cd", project ?? "."])} && portolan console`;
  throw new Failure("usage", `${what} already runs at ${origin}${isSameProject ? ", with other arguments" : ""}`, {
    next: `press Ctrl-C in its terminal, or show it: ${show}`,
  });
}

function tell({ screen, print, isJson }: CommandContext, address: string, isElsewhere: boolean): void {
  if (isJson) {
    print(JSON.stringify({ event: "ready", url: address, isElsewhere }));
    return;
  }
  print(`  console  ${screen.step(address)}`);
  const hint = isElsewhere ? "it runs in another terminal" : "press Ctrl-C to stop";
  print(screen.style("dim", `  ${hint}`));
}
