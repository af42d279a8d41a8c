import type { Unsubscribe } from "../storage.ts";
import type { Commands } from "./commands.ts";
import { explain, isErrorReply, storeFailure } from "./failure.ts";
import { echoMs, maxHeldCharacters, maxHeldMessages } from "./limits.ts";
import { dialPauseMs, ignore, type RedisLink } from "./link.ts";
import { publishMessage } from "./scripts.ts";

/** A subscription of this process. */
interface Subscription {
  readonly receive: (text: string) => void;
  readonly lost: () => void;
}

/** A channel of Redis that this process receives, or is about to receive or to leave. */
interface Channel {
  readonly subscriptions: Set<Subscription>;
  isJoined: boolean;
  /** While set, messages are older than the subscription, and dropped until this one arrives. */
  marker: { readonly text: string; readonly arrived: () => void } | undefined;
  /** The attempt that all waiting subscriptions share. */
  joining: Promise<void> | undefined;
  /** Resolves after the latest subscribing or unsubscribing: the next one waits for it. */
  work: Promise<void>;
}

/** Settings of `Channels`. */
export interface ChannelsOptions {
  readonly commandMs: number;
  /** A channel that only this process uses. */
  readonly echoChannel: string;
  readonly report: (error: unknown) => void;
}

/**
 * Pub/Sub over a connection of its own. After a disturbance the process sends itself messages until one arrives: then the
 * channels are subscribed to again, and every subscription hears that messages may be missing. The same check, every few
 * seconds, finds a connection that is dead without having been closed.
 */
export class Channels {
  readonly #link: RedisLink;
  readonly #commands: Commands;
  readonly #options: ChannelsOptions;
  readonly #channels = new Map<string, Channel>();
  /** Channels that could not be left. */
  readonly #stale = new Set<string>();
  #sentEchoes = 0;
  #heardEcho: (text: string) => void = ignore;
  #isDisturbed = false;
  /** True while a loss is about to be told. */
  #isTellingLoss = false;
  /** Messages that came after a loss that was not told yet. */
  readonly #held: [name: string, text: string][] = [];
  #heldCharacters = 0;
  #isRecovering = false;
  #isWatching = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #endPause: () => void = ignore;
  #isClosed = false;

  constructor(link: RedisLink, commands: Commands, options: ChannelsOptions) {
    this.#link = link;
    this.#commands = commands;
    this.#options = options;
  }

  /** Resolves when messages reach `receive`. */
  async subscribe(name: string, receive: (text: string) => void, lost: () => void): Promise<Unsubscribe> {
    // First the own channel, which is never left: without any, a client of a cluster would change the node.
    await this.#join(this.#options.echoChannel, this.#channelOf(this.#options.echoChannel));
    const channel = this.#channelOf(name);
    const subscription = { receive, lost };
    channel.subscriptions.add(subscription);
    try {
      await this.#join(name, channel);
    } catch (error) {
      channel.subscriptions.delete(subscription);
      if (channel.subscriptions.size === 0 && !channel.isJoined) this.#channels.delete(name);
      throw error;
    }
    this.#watch();
    return async () => {
      if (!channel.subscriptions.delete(subscription)) return;
      if (channel.subscriptions.size === 0) await this.#leave(name, channel);
    };
  }

  publish(name: string, text: string): Promise<unknown> {
    // Clients of a cluster send PUBLISH to any node, and messages of different nodes overtake each other.
    const args = this.#link.isCluster ? ["EVAL", publishMessage, "1", name, text] : ["PUBLISH", name, text];
    return this.#commands.run({ operation: "bus.publish", key: name, args, writes: true });
  }

  /** Resolves to whether a message of this process reaches it. Rejects if none could be sent. */
  async check(): Promise<boolean> {
    const { echoChannel } = this.#options;
    await this.#join(echoChannel, this.#channelOf(echoChannel));
    this.#sentEchoes += 1;
    const text = String(this.#sentEchoes);
    const arrived = new Promise<void>((resolve) => {
      this.#heardEcho = (heard) => {
        if (heard === text) resolve();
      };
    });
    await this.publish(echoChannel, text);
    return this.#withinDeadline(arrived, "").then(
      () => true,
      () => false,
    );
  }

  /** To be called when messages may have been lost. */
  disturbed(): void {
    if (!this.#hasSubscriptions) return;
    this.#isDisturbed = true;
    this.#endPause();
    void this.#recover();
  }

  received(name: string, text: string): void {
    if (name === this.#options.echoChannel) this.#heardEcho(text);
    const channel = this.#channels.get(name);
    if (text.startsWith(markerStart) || channel?.marker) {
      if (text === channel?.marker?.text) channel.marker.arrived();
      return;
    }
    if (name === this.#options.echoChannel) return;
    if (this.#isLossUntold) this.#hold(name, text);
    else this.#pass(name, text);
  }

  /** True while subscriptions have to hear of a loss before they hear anything else. */
  get #isLossUntold(): boolean {
    return this.#isDisturbed || this.#isTellingLoss || this.#link.state !== "up";
  }

  /** Keeps a message until the loss before it was told. Of too many the oldest are lost, too. */
  #hold(name: string, text: string): void {
    this.#held.push([name, text]);
    this.#heldCharacters += text.length;
    while (this.#heldCharacters > maxHeldCharacters || this.#held.length > maxHeldMessages) {
      this.#heldCharacters -= this.#held.shift()?.[1].length ?? 0;
    }
  }

  #pass(name: string, text: string): void {
    for (const { receive } of [...(this.#channels.get(name)?.subscriptions ?? [])]) this.#tell(() => receive(text));
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#endPause();
    this.#held.length = 0;
    this.#channels.clear();
  }

  get #hasSubscriptions(): boolean {
    const hasEcho = this.#channels.has(this.#options.echoChannel);
    return !this.#isClosed && this.#channels.size > (hasEcho ? 1 : 0);
  }

  /** A subscriber that throws must not keep the others from hearing it. */
  #tell(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#options.report(error);
    }
  }

  #join(name: string, channel: Channel): Promise<void> {
    if (channel.isJoined) return Promise.resolve();
    channel.joining ??= this.#next(channel, async () => {
      await this.#untilUp();
      // If this fails, the answer may still come, and messages for nobody with it.
      this.#stale.add(name);
      const marked = this.#link.isCluster ? this.#marked(channel) : undefined;
      const late = `no answer within ${this.#options.commandMs} ms`;
      await this.#withinDeadline(this.#link.subscribe(name), late);
      if (marked && channel.marker) {
        await this.publish(name, channel.marker.text);
        await this.#withinDeadline(marked, late);
      }
      channel.isJoined = true;
      this.#stale.delete(name);
    })
      .catch((error) => {
        const what = isErrorReply(error) ? "Redis refused" : "Redis is not reachable";
        throw storeFailure(`bus.subscribe: ${what}: ${explain(error)}`, error);
      })
      .finally(() => {
        channel.joining = undefined;
      });
    return channel.joining;
  }

  /**
   * Resolves when the marker has arrived. In a cluster a message that was published before may still be on its way to the
   * node of this connection. Those of one channel come by the same way, one after the other.
   */
  #marked(channel: Channel): Promise<void> {
    return new Promise((resolve) => {
      const arrived = () => {
        channel.marker = undefined;
        resolve();
      };
      channel.marker = { text: markerStart + crypto.randomUUID(), arrived };
    });
  }

  #channelOf(name: string): Channel {
    let channel = this.#channels.get(name);
    if (!channel) {
      channel = { subscriptions: new Set(), isJoined: false, marker: undefined, joining: undefined, work: done };
      this.#channels.set(name, channel);
    }
    return channel;
  }

  #leave(name: string, channel: Channel): Promise<void> {
    return this.#next(channel, async () => {
      if (channel.subscriptions.size > 0 || this.#isClosed) return;
      if (this.#channels.get(name) === channel) this.#channels.delete(name);
      if (!channel.isJoined) return;
      channel.isJoined = false;
      this.#stale.add(name);
      // Nothing is received from now on. If Redis is away, the channel is left when it is back.
      if (this.#link.state === "up") await this.#leaveStale(name).catch(ignore);
    });
  }

  async #leaveStale(name: string): Promise<void> {
    await this.#withinDeadline(this.#link.unsubscribe(name), "no answer");
    this.#stale.delete(name);
  }

  /** Runs work on a channel after all earlier work on it. */
  #next(channel: Channel, work: () => Promise<void>): Promise<void> {
    const result = channel.work.then(work);
    channel.work = result.catch(ignore);
    return result;
  }

  async #untilUp(): Promise<void> {
    if (this.#link.state === "idle") this.#link.open();
    await this.#withinDeadline(this.#link.tried, `no connection within ${this.#options.commandMs} ms`);
    if (this.#link.state === "closed") throw new Error("the storage is closed");
    if (this.#link.state !== "up") throw this.#link.reason ?? new Error("the connection was closed");
  }

  async #withinDeadline(work: Promise<unknown>, message: string): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      // After another turn: a process that was busy for long has not read yet what has arrived.
      const end = () => {
        timer = setTimeout(() => reject(new Error(message)), 1);
      };
      timer = setTimeout(end, this.#options.commandMs);
    });
    try {
      await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      work.catch(ignore);
    }
  }

  /** Checks every few seconds that messages arrive, until there are no subscriptions. */
  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const look = async () => {
      await this.#recover();
      if (this.#hasSubscriptions) {
        this.#timer = setTimeout(look, echoMs);
        (this.#timer as { unref?: () => void }).unref?.();
      } else {
        this.#isWatching = false;
      }
    };
    this.#timer = setTimeout(look, echoMs);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Checks until a message arrives. If some may have been lost before, every subscription hears so. */
  async #recover(): Promise<void> {
    if (this.#isRecovering) return;
    this.#isRecovering = true;
    for (let attempt = 0; this.#hasSubscriptions; attempt += 1) {
      const wasDisturbed = this.#isDisturbed;
      this.#isDisturbed = false;
      this.#isTellingLoss = wasDisturbed;
      const isHeard = await this.#isHeard();
      this.#isTellingLoss = false;
      if (isHeard) {
        if (wasDisturbed) this.#tellLost();
        if (!this.#isLossUntold) this.#passHeld();
        if (!this.#isDisturbed) break;
      } else {
        this.#isDisturbed = true;
        await this.#pause(dialPauseMs(attempt));
      }
    }
    this.#isRecovering = false;
  }

  async #isHeard(): Promise<boolean> {
    try {
      const isHeard = await this.check();
      // The message was sent, but this connection does not bring it.
      if (!isHeard && this.#link.state === "up") this.#link.reset();
      for (const name of isHeard ? this.#stale : []) if (!this.#channels.has(name)) await this.#leaveStale(name);
      return isHeard;
    } catch {
      // Redis is away. The next attempt follows.
      return false;
    }
  }

  #passHeld(): void {
    this.#heldCharacters = 0;
    for (const [name, text] of this.#held.splice(0)) this.#pass(name, text);
  }

  #tellLost(): void {
    for (const { subscriptions } of [...this.#channels.values()]) {
      for (const { lost } of [...subscriptions]) this.#tell(lost);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const done = Promise.resolve();

/** Begins a text that is no message of the bus: encoded texts have other characters after the first. */
const markerStart = "\uFDD0>";
