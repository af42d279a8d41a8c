import { closeMs, dialMs } from "./limits.ts";
import { dialPauseMs, ignore, type LinkOptions, type LinkState, LinkStatus, type RedisLink } from "./link.ts";

/** A client of ioredis 5 or 6: `Redis`, also with Sentinel, or `Cluster`. */
export interface IoredisClient {
  readonly status: string;
  readonly isCluster: boolean;
  duplicate(...overrides: never[]): unknown;
  call(...command: never[]): unknown;
  subscribe(...channels: never[]): unknown;
}

/** The part of a duplicate that is used. */
interface Duplicate {
  readonly status: string;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
  call(command: string, ...args: string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  on(event: string, listener: (...args: never[]) => void): unknown;
  once(event: string, listener: () => void): unknown;
}

/** A connection of ioredis. It reconnects by itself; what it would send again by itself is switched off. */
export class IoredisLink implements RedisLink {
  readonly isCluster: boolean;
  readonly #status: LinkStatus;
  readonly #duplicate: Duplicate;
  #error: unknown;

  constructor(client: IoredisClient, { events, silentMs }: LinkOptions) {
    this.isCluster = client.isCluster;
    this.#status = new LinkStatus(events);
    const duplicate = duplicateOf(client, silentMs);
    this.#duplicate = duplicate;
    const down = () => this.#status.down(this.#error);
    duplicate.on("error", (error: unknown) => {
      this.#error = error;
      if (duplicate.status !== "ready") down();
    });
    duplicate.on("ready", () => {
      this.#error = undefined;
      this.#status.up();
    });
    for (const event of ["close", "reconnecting", "end"]) duplicate.on(event, down);
    duplicate.on("message", (channel: string, text: string) => events.received(channel, text));
    if (!this.isCluster) return;
    // Nodes that are found before it is connected disturb nothing.
    const disturbed = () => {
      if (this.state === "up") events.disturbed();
    };
    duplicate.on("node error", (error: unknown) => {
      this.#error = error;
      disturbed();
    });
    for (const event of ["+node", "-node"]) duplicate.on(event, disturbed);
  }

  get tried(): Promise<void> {
    return this.#status.tried;
  }

  get state(): LinkState {
    return this.#status.state;
  }

  get reason(): unknown {
    return this.#status.reason;
  }

  open(): void {
    if (this.state !== "idle") return;
    this.#status.connecting();
    // Its failure is an event, and the next attempt follows.
    this.#duplicate.connect().catch(ignore);
  }

  send(_key: string, [command = "", ...args]: readonly string[]): Promise<unknown> {
    return this.#duplicate.call(command, ...args);
  }

  subscribe(channel: string): Promise<unknown> {
    return this.#duplicate.subscribe(channel);
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.#duplicate.unsubscribe(channel);
  }

  reset(): void {
    if (this.state === "up") this.#duplicate.disconnect(true);
  }

  async close(): Promise<void> {
    if (this.state === "closed") return;
    this.#status.closed();
    if (this.#duplicate.status === "end") return;
    // There is no event if it was about to connect again.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ended = new Promise<void>((resolve) => {
      this.#duplicate.once("end", resolve);
      timer = setTimeout(resolve, 2 * closeMs);
    });
    this.#duplicate.disconnect();
    await ended;
    clearTimeout(timer);
  }
}

function duplicateOf(client: IoredisClient, silentMs: number): Duplicate {
  const ofNode = {
    // The storage has keys and channels of its own, reads from masters, and gets plain replies.
    ...{ keyPrefix: "", readOnly: false, stringNumbers: false, replyMapping: "legacy", enableAutoPipelining: false },
    // By default ioredis sends commands again whose reply was lost: an entry would be appended twice.
    ...{ autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, reconnectOnError: isReadOnlyReply },
    ...{
      commandTimeout: undefined,
      connectTimeout: dialMs,
      socketTimeout: Math.max(dialMs, silentMs),
      disconnectTimeout: closeMs,
    },
    ...{ autoResubscribe: true, enableReadyCheck: true, monitor: false },
  };
  if (!client.isCluster) {
    const duplicate = client.duplicate as (overrides: object) => Duplicate;
    return duplicate.call(client, {
      ...ofNode,
      ...{ lazyConnect: true, enableOfflineQueue: false, role: "master" },
      ...{ retryStrategy: dialPauseMs, sentinelRetryStrategy: dialPauseMs },
    });
  }
  const { options = {} } = client as { options?: { redisOptions?: object } };
  const duplicate = client.duplicate as (nodes: [], overrides: object) => Duplicate;
  return duplicate.call(client, [], {
    redisOptions: { ...options.redisOptions, ...ofNode },
    ...{ keyPrefix: "", scaleReads: "master", enableAutoPipelining: false, shardedSubscribers: false },
    // A command that reached a node that then closed would be sent again. The queue of a node is needed until it is connected.
    ...{ lazyConnect: true, enableOfflineQueue: true, retryDelayOnFailover: 0, retryDelayOnClusterDown: 0 },
    ...{ clusterRetryStrategy: dialPauseMs, slotsRefreshTimeout: dialMs, slotsRefreshInterval: dialMs },
  });
}

/** A server that became a replica refuses writes: the new master is found by a new connection. */
function isReadOnlyReply({ message }: Error): boolean {
  return message.startsWith("READONLY");
}
