import type { PortolanError } from "../../errors.ts";
import type { Channels } from "./channels.ts";
import type { Commands } from "./commands.ts";
import { explain, storeFailure } from "./failure.ts";
import { dialMs } from "./limits.ts";
import type { RedisLink } from "./link.ts";
import { describeServer } from "./scripts.ts";

/** The parts of a storage that a check uses. */
export interface CheckedParts {
  readonly commandLink: RedisLink;
  readonly channelLink: RedisLink;
  readonly commands: Commands;
  readonly channels: Channels;
  readonly prefix: string;
  readonly report: (error: unknown) => void;
}

/** Rejects with one line if the storage cannot work with the server. */
export async function checkServer(parts: CheckedParts): Promise<void> {
  const { commandLink, channelLink, commands, channels, prefix, report } = parts;
  for (const link of [commandLink, channelLink]) await untilUp(link);
  const key = `${prefix}:{index}`;
  const args = ["EVAL", describeServer, "1", key];
  const facts = factsIn(await commands.run({ operation: "ready", key, args, writes: false }));
  const [major = 0, minor = 0] = (facts["redis_version"] ?? "").split(".").map(Number);
  if (major < 6 || (major === 6 && minor < 2)) {
    throw unusable(`its version is ${facts["redis_version"] ?? "unknown"}, and 6.2 or newer is needed; upgrade it`);
  }
  if (facts["redis_mode"] === "cluster" && !commandLink.isCluster) {
    throw unusable("it is part of a Redis Cluster; create the client with createCluster or new Cluster");
  }
  if (facts["role"] === "slave") throw unusable("it is a replica, which takes no writes; connect to the master");
  if (!(await channels.check())) throw unusable("a message that was published did not arrive");
  const policy = facts["maxmemory_policy"];
  if (Number(facts["maxmemory"] ?? 0) > 0 && policy !== undefined && policy !== "noeviction") {
    report(
      storeFailure(
        `Redis may drop sessions when its memory is full: maxmemory-policy is ${policy}. Set it to noeviction`,
      ),
    );
  }
}

/** Waits for the connection, or for the first reason why there is none. */
async function untilUp(link: RedisLink): Promise<void> {
  link.open();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, dialMs);
  });
  await Promise.race([link.tried, late]);
  clearTimeout(timer);
  if (link.state === "connecting") throw unusable(`it did not answer within ${dialMs} ms`);
  if (link.state === "closed") throw unusable("the storage is closed");
  if (link.state === "down") throw unusable(explain(link.reason), link.reason);
}

function unusable(reason: string, cause?: unknown): PortolanError {
  return storeFailure(`Redis cannot be used: ${reason}`, cause);
}

/** Reads the lines `name:value` of INFO. */
function factsIn(reply: unknown): { readonly [name: string]: string } {
  const lines = (Array.isArray(reply) ? reply : []).flatMap((text) => String(text).split("\r\n"));
  return Object.fromEntries(lines.flatMap((line) => (line.includes(":") ? [line.split(/:(.*)/s, 2)] : [])));
}
