import { nameOf, PortolanError } from "../../errors.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import type { Bus, Storage } from "../storage.ts";
import { Channels } from "./channels.ts";
import { checkServer } from "./check.ts";
import { Commands } from "./commands.ts";
import { type IoredisClient, IoredisLink } from "./ioredis-link.ts";
import { RedisKeyValue } from "./key-value.ts";
import { defaultCommandMs, defaultMaxCommands, maxPrefixChars, silentDeadlines } from "./limits.ts";
import type { LinkOptions, RedisLink, RedisLinkEvents } from "./link.ts";
import { RedisLog } from "./log.ts";
import { type NodeRedisClient, type NodeRedisKind, NodeRedisLink } from "./node-redis-link.ts";
import { decodeText, encodeText } from "./text.ts";

/** A client of node-redis 5 or 6, or of ioredis 5 or 6: for one server, Sentinel or Cluster. */
export type RedisClient = NodeRedisClient | IoredisClient;

/** Options of `createRedisStorage`. */
export interface RedisStorageOptions {
  /** Begins all keys and channels. Programs with the same prefix share their data. Default: "portolan". */
  readonly prefix?: string;
  /** A command fails after this time. Default: 900 ms. */
  readonly commandMs?: number;
  /** At most this many commands under way. A further one is refused. Default: 10,000. */
  readonly maxCommands?: number;
  /** Called with problems that no call reports. Default: they are ignored. */
  readonly onError?: (error: unknown) => void;
}

/** A storage in Redis. */
export interface RedisStorage extends Storage {
  /** Connects, and checks the server and the rights of the user. Rejects with one line that says what is wrong. */
  ready(): Promise<void>;
  /** Closes the connections of the storage. The client that it was made from stays open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const redisStorageOptions: OptionNames<RedisStorageOptions> = {
  prefix: 1,
  commandMs: 1,
  maxCommands: 1,
  onError: 1,
};

/**
 * Creates a storage in Redis 6.2 or newer, for any number of processes. It makes two connections like those of the client,
 * with the first call, and never uses the client's own.
 */
export function createRedisStorage(client: RedisClient, options: RedisStorageOptions = {}): RedisStorage {
  checkOptions(options, redisStorageOptions, "createRedisStorage");
  const { prefix = "portolan", onError = () => {} } = options;
  const limits = {
    commandMs: checkPositive("commandMs", options.commandMs ?? defaultCommandMs),
    maxCommands: checkPositive("maxCommands", options.maxCommands ?? defaultMaxCommands),
  };
  checkPrefix(prefix);
  const silentMs = silentDeadlines * limits.commandMs;
  const report = reporter(onError);

  const connect = linkMaker(client);
  const commandLink = connect({
    silentMs,
    events: {
      disturbed: () => log.serverMayHaveChanged(),
      received: () => {},
    },
  });
  const commands = new Commands(commandLink, limits);
  const channelEvents: RedisLinkEvents = {
    disturbed: () => channels.disturbed(),
    received: (name, text) => channels.received(name, text),
  };
  const channelLink = connect({ silentMs, events: channelEvents });
  const echoChannel = `${prefix}:echo:${crypto.randomUUID()}`;
  const channels = new Channels(channelLink, commands, { commandMs: limits.commandMs, echoChannel, report });
  const log = new RedisLog(commands, channels, prefix);

  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      channels.close();
      log.close();
      await Promise.all([commandLink.close(), channelLink.close()]);
    })();
    return closing;
  };
  return {
    kv: new RedisKeyValue(commands, prefix, report),
    log,
    bus: createBus(channels, prefix),
    ready: () => checkServer({ commandLink, channelLink, commands, channels, prefix, report }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function createBus(channels: Channels, prefix: string): Bus {
  const channelOf = (topic: string) => `${prefix}:bus:${encodeText(topic)}`;
  return {
    async publish(topic, value) {
      await channels.publish(channelOf(topic), encodeText(value));
    },
    subscribe: (topic, receive, lost) =>
      channels.subscribe(channelOf(topic), (text) => receive(decodeText(text)), lost),
  };
}

/** Returns the function that connects as this client would. */
function linkMaker(client: RedisClient): (options: LinkOptions) => RedisLink {
  const given = client as Partial<NodeRedisClient & IoredisClient> | null | undefined;
  const has = (...names: string[]) =>
    names.every((name) => typeof (given as { [name: string]: unknown } | null | undefined)?.[name] === "function");
  if (has("duplicate", "call", "subscribe") && typeof given?.status === "string") {
    return (options) => new IoredisLink(client as IoredisClient, options);
  }
  if (has("duplicate", "sendCommand", "subscribe", "destroy")) {
    const kind: NodeRedisKind = has("getSentinelNode") ? "sentinel" : has("nodeClient") ? "cluster" : "client";
    return (options) => new NodeRedisLink(client as NodeRedisClient, kind, options);
  }
  if (has("getSentinelNode")) {
    throw new PortolanError(
      "invalid-argument",
      "createRedisStorage: a Sentinel client of redis 5 cannot be duplicated; use redis 6 or ioredis",
    );
  }
  throw new PortolanError(
    "invalid-argument",
    `createRedisStorage: expected a client of redis 5 or 6 (createClient, createCluster, createSentinel) or of ioredis 5 or 6 (Redis, Cluster), got ${nameOf(client)}`,
  );
}

function checkPositive(name: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 1) return value;
  throw new PortolanError("invalid-argument", `${name}: expected a number from 1 on, got ${nameOf(value)}`);
}

function checkPrefix(prefix: unknown): void {
  if (typeof prefix !== "string" || prefix === "" || prefix.length > maxPrefixChars) {
    throw new PortolanError(
      "invalid-argument",
      `prefix: expected 1 to ${maxPrefixChars} characters, got ${nameOf(prefix)}`,
    );
  }
  if (/[{}]/.test(prefix)) {
    throw new PortolanError(
      "invalid-argument",
      `prefix: expected text without { and }, got ${nameOf(prefix)}. They decide where a Redis Cluster keeps a key, and would put all keys on one node`,
    );
  }
}

/** Returns a function that reports an error, and survives a report that throws. */
function reporter(onError: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    try {
      onError(error);
    } catch {
      // There is no one left to tell.
    }
  };
}
