import { serveHttp } from "portolan/server/http";
import { tokenVariable, verifierOf } from "portolan/server/main";
import { serveStdio } from "portolan/server/stdio";
import { passOn } from "../child-words.ts";
import type { Context, Flags, Shown } from "../command.ts";
import { Failure, toFailure } from "../failure.ts";
import { checkEntry } from "../linking.ts";
import { interrupted, portOf } from "../listening.ts";
import { StandIn } from "../stand-in.ts";
import { findTarget } from "../targets.ts";
import { Upstream } from "../upstream.ts";

/** Serves a server that speaks in one way in the other: a command over HTTP, an address over standard input and output. */
export async function run(context: Context, [given]: readonly string[], flags: Flags): Promise<Shown | undefined> {
  const { world, signal } = context;
  const { http, stdio, revision, host } = flags;
  if (http !== undefined && stdio === true) throw new Failure("usage", "expected --http or --stdio, not both");
  if (host !== undefined && stdio === true) throw new Failure("usage", "--host: expected --http as well");
  const port = typeof http === "string" ? portOf(http) : 0;
  if (typeof host === "string" && !isLoopback(host) && !world.env[tokenVariable]) {
    throw new Failure("usage", `--host ${host}: others could use this server without a token`, {
      next: `set ${tokenVariable} to a token that they must show, or leave --host out`,
    });
  }
  const { entry } = await findTarget(context, given);
  await checkEntry(context, entry);
  const standIn = new StandIn((error) => void world.stderr.write(`${toFailure(error).message}\n`));
  const upstream: Upstream = new Upstream(
    entry,
    context,
    {
      onLog: (message) => standIn.log(message),
      onConnected: (client) => standIn.follow(client, upstream),
      onStderr: passOn(context),
    },
    typeof revision === "string" ? revision : undefined,
  );
  try {
    const { server } = await upstream.client();
    const overStdio = stdio === true || (http === undefined && "url" in entry.target);
    if (overStdio) {
      const serving = serveStdio(standIn.server, { exit: false });
      await Promise.race([serving.closed, interrupted(signal)]);
      world.stdin.destroy();
    } else
      await serveOverHttp(standIn, context, port, { host, about: { name: server.info?.name, speaks: server.version } });
  } finally {
    await upstream.close();
  }
  return undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

async function serveOverHttp(
  { server }: StandIn,
  { world, screen, print, isJson, signal }: Context,
  port: number,
  { host, about }: { readonly host: Flags[string]; readonly about: { name: string | undefined; speaks: string } },
): Promise<void> {
  const protection = verifierOf(world.env[tokenVariable]);
  const serving = serveHttp(server, { ...protection, httpSse: true });
  const { url } = await serving.listen(port, typeof host === "string" ? host : undefined);
  const isProtected = protection.verify !== undefined;
  if (isJson) print(JSON.stringify({ event: "ready", url, isProtected, ...about }));
  else {
    print(
      `  ${screen.style("bold", screen.safe(about.name ?? "server"))} (${screen.safe(about.speaks)}) is served to every revision`,
    );
    print(`  http   ${url}${isProtected ? ` (with the token in ${tokenVariable})` : ""}`);
    print(screen.style("dim", "  Ctrl-C ends"));
  }
  await interrupted(signal);
  await serving.close(0);
}
