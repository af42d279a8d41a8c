import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { PortolanError } from "portolan";
import { rotateKeys, type Storage } from "portolan/storage";
import type { RedisClient } from "portolan/storage/redis";
import { textFlag } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { quote } from "../terminal/escape.ts";

/** A storage of servers, as the command line names it. */
interface NamedStorage {
  /** Without a password. */
  readonly shown: string;
  readonly prefix?: string;
  open(): Promise<Storage & { ready(): Promise<void>; close(): Promise<void> }>;
}

/** Replaces the key that servers keep in their storage. */
export async function run(
  context: CommandContext,
  [action, given]: readonly string[],
  flags: Flags,
): Promise<CommandResult> {
  if (action !== "rotate") {
    const got = action === undefined ? "nothing" : JSON.stringify(action);
    throw new Failure("usage", `keys: expected rotate, got ${got}`, { next: "portolan keys --help" });
  }
  const { screen, terminal } = context;
  const named = findStorage(context, given, flags);
  const { shown, prefix } = named;
  const rotating = rotateIn(await named.open(), named);
  const { olderKeys, replacedKeyEndsAt = 0 } = await terminal.waits.during(`opening ${screen.safe(shown)}`, rotating);
  const opensUntil = new Date(replacedKeyEndsAt).toISOString();
  return {
    value: { storage: shown, ...(prefix !== undefined && { prefix }), olderKeys, replacedKeyOpensUntil: opensUntil },
    text: () =>
      [
        `${screen.style("green", screen.mark("ok"))} New key in ${screen.safe(shown)}. Servers use it within a minute.`,
        `  The key before it opens until ${opensUntil.slice(0, 16).replace("T", " ")} UTC, so that no open question is lost.`,
      ].join("\n"),
  };
}

async function rotateIn(storage: Awaited<ReturnType<NamedStorage["open"]>>, { shown, prefix }: NamedStorage) {
  try {
    await storage.ready();
    // A first key here would look like success, and no server would use it.
    return await rotateKeys(storage, { mustExist: true });
  } catch (cause) {
    if (!(cause instanceof PortolanError) || cause.code !== "invalid-argument") throw cause;
    const under = prefix === undefined ? "" : ` with the prefix ${JSON.stringify(prefix)}`;
    throw new Failure("usage", `${shown} has no key${under}. Servers make one with the first question that they ask`, {
      next: prefix === undefined ? undefined : "if your servers have another prefix, add --prefix",
      cause,
    });
  } finally {
    await storage.close();
  }
}

function findStorage(context: CommandContext, given: string | undefined, flags: Flags): NamedStorage {
  const { cwd, env } = context.system;
  const name = given ?? env["REDIS_URL"];
  if (name === undefined || name === "") {
    throw new Failure("usage", "expected the address of Redis or the folder of a storage; REDIS_URL is not set either");
  }
  const isRedis = /^rediss?:\/\//i.test(name);
  if (isRedis) return findRedis(context, name, flags);
  const flag = ["prefix", "cluster"].find((each) => flags[each] !== undefined);
  if (flag !== undefined) throw new Failure("usage", `--${flag} is for Redis, and ${quote(name)} is a folder`);
  const folder = resolve(cwd, name);
  // A storage that is opened makes its folder.
  if (!hasJournal(folder)) {
    throw new Failure("usage", `${quote(name)} is no folder with a storage. Redis begins with redis:// or rediss://`);
  }
  return {
    shown: name,
    async open() {
      const { createFileStorage } = await import("portolan/storage/node");
      return createFileStorage(folder, { onError: (error) => context.warn(messageOf(error)) });
    },
  };
}

function findRedis(context: CommandContext, address: string, flags: Flags): NamedStorage {
  const { secrets, system } = context;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const password = url && decoded(url.password);
  if (!url || password === undefined) {
    throw new Failure("usage", "the address of Redis cannot be read. Write % in its password as %25");
  }
  if (password !== "") secrets.add([url.password, password, address]);
  url.password = "";
  url.username = "";
  const prefix = textFlag(flags, "prefix") ?? "portolan";
  return {
    shown: url.href,
    prefix,
    async open() {
      const client = await connectTo(system.cwd, address, flags["cluster"] === true);
      const { createRedisStorage } = await import("portolan/storage/redis");
      return createRedisStorage(client, { prefix, onError: (error) => context.warn(messageOf(error)) });
    },
  };
}

/** Returns undefined for a text with a broken escape. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Creates a client with the library that the project in this folder has. It connects when the storage is used. */
async function connectTo(folder: string, address: string, isCluster: boolean): Promise<RedisClient> {
  const project = createRequire(join(folder, "package.json"));
  const load = async <T>(name: string): Promise<T | undefined> => {
    let path: string;
    try {
      path = project.resolve(name);
    } catch {
      return undefined;
    }
    return (await import(pathToFileURL(path).href)) as T;
  };
  const nodeRedis = await load<typeof import("redis")>("redis");
  if (nodeRedis) {
    const { createClient, createCluster } = nodeRedis;
    return isCluster ? createCluster({ rootNodes: [{ url: address }] }) : createClient({ url: address });
  }
  const ioredis = await load<typeof import("ioredis")>("ioredis");
  if (ioredis) {
    const { Cluster, Redis } = ioredis;
    return isCluster ? new Cluster([address], { lazyConnect: true }) : new Redis(address, { lazyConnect: true });
  }
  throw new Failure("usage", "this folder has no Redis client. Run the command in the folder of your server", {
    next: "npm install redis",
  });
}

function hasJournal(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => /^journal-\d+\.log$/.test(name));
  } catch {
    return false;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
