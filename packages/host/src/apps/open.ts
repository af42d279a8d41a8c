import { PortolanError } from "portolan";
import { checkOptions, type OptionNames } from "portolan/internal";
import type { Host, HostCallOptions } from "../api.ts";
import { checkBounds } from "../options.ts";
import type { AppAccess } from "./access.ts";
import type { AppSession, OpenAppOptions } from "./api.ts";
import { appUriOf } from "./protocol.ts";
import { toAppResource } from "./resource.ts";
import { LocalSession } from "./session.ts";
import { warningsOf } from "./warnings.ts";

const optionNames = {
  ...{ server: 1, tool: 1, args: 1, result: 1, callId: 1, surroundings: 1, displayModes: 1, onDisplayMode: 1 },
  ...{
    onMessage: 1,
    onDownload: 1,
    sampling: 1,
    appTools: 1,
    onTools: 1,
    onContext: 1,
    onLog: 1,
    onState: 1,
    conversation: 1,
    answers: 1,
    run: 1,
  },
  ...{ startMs: 1, teardownMs: 1, signal: 1 },
} satisfies OptionNames<OpenAppOptions>;

/**
 * Opens the app of a tool: reads it, asks the user whether it may be shown, and returns its session. The app appears when
 * a channel is connected, such as by `mountApp` of `portolan-host/apps/web`.
 */
export async function openApp(host: Host, options: OpenAppOptions): Promise<AppSession> {
  checkOptions(options, optionNames, "openApp");
  const { server, tool, signal, answers, run, startMs, teardownMs } = options;
  checkBounds("", { startMs, teardownMs });
  // The call may fail before the app is there, which `sendCancelled` tells it later.
  if (options.result && "then" in options.result) options.result.catch(() => {});
  const access = accessOf(host);
  await access.settled(server, signal);
  const definition = host.catalog.tool(server, tool)?.definition;
  if (!definition)
    throw new PortolanError("invalid-argument", `openApp: ${server} has no tool ${JSON.stringify(tool)}`);
  const uri = appUriOf(definition);
  if (uri === undefined) throw new PortolanError("invalid-argument", `openApp: ${server}.${tool} has no app`);
  const call: HostCallOptions = {
    ...(signal && { signal }),
    ...(answers && { answers }),
    ...(run !== undefined && { run }),
  };
  // Nothing of it reaches a model, so reading it needs no consent; showing it does.
  const read = await host.readResource(server, uri, { ...call, by: "app" });
  const listed = host.catalog.resources.find((one) => one.server === server && one.uri === uri);
  const resource = toAppResource(uri, read, listed);
  const id = crypto.randomUUID();
  const { sources, permissions } = resource;
  const warnings = warningsOf(resource);
  await access.permit(id, server, { kind: "app", uri, tool, permissions, warnings, ...(sources && { sources }) }, call);
  return new LocalSession(host, access, options, { id, resource, definition: { ...definition } });
}

function accessOf(host: Host): AppAccess {
  const own = host as Host & { readonly appAccess?: AppAccess };
  if (own.appAccess) return own.appAccess;
  throw new PortolanError("invalid-argument", "openApp: expected a host made by createHost");
}
