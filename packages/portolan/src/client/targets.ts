import { nameOf, PortolanError } from "../errors.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { channelLink } from "./channel-link.ts";
import type { CommandTarget } from "./command.ts";
import type { Link } from "./link.ts";

/** A link to what is neither a link itself nor an address; throws for what cannot be connected to. */
export async function linkTo(target: CommandTarget | Channel): Promise<Link> {
  if (typeof target === "object" && target !== null) {
    if ("send" in target) return channelLink(target);
    if (typeof target.command === "string") return (await import("./stdio.ts")).stdio(target);
  }
  throw new PortolanError(
    "invalid-argument",
    `connect: expected an http address, { command, args }, a link or a channel, got ${nameOf(target)}`,
  );
}
