import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { textFlag } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { findTarget } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { findCard } from "../sources/card.ts";
import { toTypedUrl } from "../sources/fetch.ts";

/** Prints the server card at an address. With `--name` it prints the card that a server could have, made of what it says. */
export async function run(context: CommandContext, [given]: readonly string[], flags: Flags): Promise<CommandResult> {
  const name = textFlag(flags, "name");
  const card = name === undefined ? await read(context, given, flags) : await make(context, given, name, flags);
  return { value: card, text: () => context.screen.json(card) };
}

async function read(context: CommandContext, given: string | undefined, flags: Flags): Promise<object> {
  if (given === undefined || !/^https?:\/\//i.test(given)) {
    throw new Failure("usage", "expected an address that has a card, or --name for the card of another server");
  }
  const flag = ["url", "description"].find((each) => flags[each] !== undefined);
  if (flag !== undefined) throw new Failure("usage", `--${flag} is for a card that is made, with --name`);
  return (await findCard(context, toTypedUrl(given, "address"))).card;
}

async function make(context: CommandContext, given: string | undefined, name: string, flags: Flags): Promise<object> {
  const { entry } = await findTarget(context, given);
  const profile = await withHost(context, [entry], async (host) => {
    await host.start(entry.name);
    return host.servers[0]?.profile;
  });
  const { info, version } = profile ?? {};
  if (!info) throw new Failure("protocol", "the server does not tell its name and version, which a card needs");
  const url = textFlag(flags, "url");
  const remotes = url === undefined ? undefined : [{ url, ...(version && { supportedProtocolVersions: [version] }) }];
  const problems: string[] = [];
  const onError = (error: unknown) => void problems.push(error instanceof Error ? error.message : String(error));
  const { title, websiteUrl, icons } = info;
  const description = textFlag(flags, "description") ?? info.description;
  const said = {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(websiteUrl !== undefined && { websiteUrl }),
    ...(icons && { icons }),
  };
  // The library makes and checks the card, as `serveHttp` would serve it.
  const server = createServer({ name: info.name, version: info.version, ...said }, { onError });
  const endpoint = serveHttp(server, { card: { name, ...(remotes && { remotes }) } });
  try {
    const response = await endpoint.fetch(new Request("http://localhost/mcp/server-card"));
    if (response.ok) return (await response.json()) as object;
  } finally {
    await endpoint.close(0);
  }
  const problem = problems.find((text) => text.startsWith(prefix))?.slice(prefix.length) ?? problems[0];
  throw new Failure("usage", `the server cannot have a card yet: ${problem}`);
}

const prefix = "serveHttp: card: ";
