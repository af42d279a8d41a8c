import { tasks } from "portolan/client/tasks";
import { serveHttp } from "portolan/server/http";
import { logUnhandledRejections, tokenVariable, verifierOf } from "portolan/server/main";
import { serveStdio } from "portolan/server/stdio";
import { apps } from "portolan-host/apps";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure, toFailure } from "../failure.ts";
import { parsePort } from "../serve/listen.ts";
import { ProxyServer } from "../serve/proxy-server.ts";
import { Upstream } from "../serve/upstream.ts";
import { withWithheld } from "../servers/explain.ts";
import { findServer } from "../servers/find-server.ts";
import { requireUsable } from "../servers/host.ts";
import { explainLink } from "../servers/link.ts";
import { wrapHanging } from "../terminal/wrap.ts";

/** Serves a command over HTTP, or an address over standard input and output. */
export async function run(
  context: CommandContext,
  [given]: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system } = context;
  const { http, stdio, host } = flags;
  if (http !== undefined && stdio === true) throw new Failure("usage", "expected --http or --stdio, not both");
  if (host !== undefined && stdio === true) throw new Failure("usage", "--host needs --http");
  const port = typeof http === "string" ? parsePort(http) : 0;
  if (typeof host === "string" && !isLoopback(host) && !system.env[tokenVariable]) {
    throw new Failure("usage", `--host ${host}: others could use this server without a token`, {
      next: `set ${tokenVariable} to a token that clients must send, or omit --host`,
    });
  }
  const entry = await findServer(context, given, flags);
  await requireUsable(context, entry);
  const overStdio = stdio === true || (http === undefined && "url" in entry.target);
  const proxy = new ProxyServer((error) => context.warn(toFailure(error).message));
  const upstream: Upstream = new Upstream(
    entry,
    context,
    {
      onLog: (message) => proxy.log(message),
      onConnected: (client) => proxy.follow(client, upstream),
      onStderr: context.forwardStderr,
    },
    // Calls that become tasks are waited for, and clients that know apps see those of the tools.
    { hasOneCaller: overStdio, extensions: [tasks(), apps()] },
  );
  try {
    const starting = `starting ${context.screen.safe(entry.name)}`;
    const { server } = await context.terminal.waits.during(starting, upstream.client()).catch(async (reason) => {
      throw await withWithheld(context, entry, reason);
    });
    logUnhandledRejections("portolan serve", proxy.server);
    if (overStdio) {
      const serving = serveStdio(proxy.server, { exit: false });
      await Promise.race([serving.closed, context.untilStopped()]);
      system.stdin.destroy();
    } else
      await serveOverHttp(proxy, context, port, { host, about: { name: server.info?.name, speaks: server.version } });
  } catch (reason) {
    throw await explainLink(reason, entry, system);
  } finally {
    await proxy.close();
    await upstream.close();
  }
  return undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

async function serveOverHttp(
  { server }: ProxyServer,
  { system, screen, print, isJson, untilStopped }: CommandContext,
  port: number,
  { host, about }: { readonly host: Flags[string]; readonly about: { name: string | undefined; speaks: string } },
): Promise<void> {
  const protection = verifierOf(system.env[tokenVariable]);
  const serving = serveHttp(server, { ...protection, httpSse: true });
  const { url } = await serving.listen(port, typeof host === "string" ? host : undefined);
  const isProtected = protection.verify !== undefined;
  if (isJson) print(JSON.stringify({ event: "ready", url, isProtected, ...about }));
  else {
    const title = `${screen.style("bold", screen.safe(about.name ?? "server"))} (${screen.safe(about.speaks)}) is served to clients of every revision`;
    print(`  ${wrapHanging(title, screen.columns, 2, 2)}`);
    print(`  http   ${url}${isProtected ? ` (with the token in ${tokenVariable})` : ""}`);
    print(screen.style("dim", "  press Ctrl-C to stop"));
  }
  await untilStopped();
  await serving.close();
}
