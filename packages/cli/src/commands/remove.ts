import { writeServer } from "portolan-host/node";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { findByName, isOwnFile, readConfiguration } from "../servers/find-server.ts";
import { findTrusted, withHost } from "../servers/host.ts";
import { quote } from "../terminal/escape.ts";
import { stopWarmTrusted } from "../warm/warm-entry.ts";

/** Removes a server from its file, revokes its grants, and stops it if it is kept running. */
export async function run(
  context: CommandContext,
  [name = ""]: readonly string[],
  flags: Flags,
): Promise<CommandResult> {
  const { screen } = context;
  const entry = await findByName(context, name);
  const { file, product, path } = entry.source;
  if (!isOwnFile(entry.source) && flags["force"] !== true) {
    throw new Failure("denied", `${name} is in ${file}, which belongs to ${product}`, {
      next: `portolan remove ${quote(name)} --force`,
    });
  }
  await writeServer(file, name, undefined, { product, lock: { onWait: context.state.onWait } });
  const { entries } = await readConfiguration(context);
  const left = entries.find((other) => other.name === name);
  if (left?.source.file === file && left.source.path === path) {
    throw new Failure("failed", `${path} in ${file} cannot be removed by this command`, {
      next: "remove it from the file by hand",
    });
  }
  const revoked = await withHost(context, [], async (host) => {
    // Servers of the same name in other projects keep their grants.
    const trusted = await findTrusted(host, entry);
    const grants = host.grants.list().filter(({ serverDigest }) => trusted.has(serverDigest));
    for (const { id } of grants) await host.grants.revoke(id);
    await stopWarmTrusted(context, entry, trusted);
    return grants.length;
  });
  return {
    value: { name, file, revoked, ...(left && { nowFrom: left.source.file }) },
    text() {
      const done = `${screen.style("green", screen.mark("ok"))} ${screen.safe(name)} ${screen.style("dim", `removed from ${screen.safe(file)}`)}`;
      const lines = [done];
      if (left)
        lines.push(
          `${screen.mark("warn")} ${screen.safe(left.source.file)} also has a server of this name, which is used now`,
        );
      return lines.join("\n");
    },
  };
}
