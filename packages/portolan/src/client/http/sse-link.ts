import { PortolanError } from "../../errors.ts";
import type { RequestId, RpcNotification, RpcRequest, RpcResponse } from "../../jsonrpc/message.ts";
import { channelLink } from "../channel-link.ts";
import { isPassing, toError } from "../failures.ts";
import type { Link, LinkEvents, Sink } from "../link.ts";
import { Backoff } from "./backoff.ts";
import { HttpFailure } from "./failure.ts";
import { SseChannel } from "./http-sse.ts";
import type { Traffic } from "./requests.ts";

/** How long the server may take to open another stream and to answer the handshake on it. */
const attemptMs = 30_000;

/** A request that waits for a stream. */
interface Held {
  readonly request: RpcRequest;
  readonly sink: Sink;
}

/**
 * HTTP+SSE as a link. The server knows a client by its stream: when that is lost, what waits fails at once, and the
 * client introduces itself anew on another.
 */
export class SseLink {
  readonly #traffic: Traffic;
  readonly #lost: (reason: Error) => void;
  readonly #backoff: Backoff;
  #channel: SseChannel;
  readonly #link: Link = channelLink(() => this.#channel);
  readonly #events: LinkEvents;
  #greeting: RpcRequest | undefined;
  #version: unknown;
  #initialized: RpcNotification | undefined;
  /** What is sent when there is a stream again; undefined while there is one. */
  #held: Held[] | undefined;
  /** Why the stream of an attempt is gone already. */
  #lostAgain: Error | undefined;
  #isOpen = false;
  #isClosed = false;

  /** `lost` hears that there is no stream and will be none. */
  constructor(traffic: Traffic, lost: (reason: Error) => void) {
    this.#traffic = traffic;
    this.#lost = lost;
    this.#backoff = new Backoff(traffic);
    this.#channel = new SseChannel(traffic);
    const { events } = traffic;
    this.#events = {
      request: (request, answer, during) => {
        const channel = this.#channel;
        // A question of a stream that is gone has nobody who waits, and its id may be another one's by now.
        events.request(request, (response) => channel === this.#channel && answer(response), during);
      },
      notification: (notification) => events.notification(notification),
      odd: (why) => traffic.odd(why),
      lost: (reason) => this.#streamLost(reason),
    };
  }

  /** Whether the server has ever said where messages go. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  async open(): Promise<void> {
    await this.#channel.connect();
    await this.#link.open(this.#events);
    this.#isOpen = true;
  }

  exchange(request: RpcRequest, sink: Sink): void {
    if (request.method === "initialize") {
      this.#greeting = request;
      this.#initialized = undefined;
    }
    if (this.#held) this.#hold({ request, sink });
    else this.#link.exchange(request, request === this.#greeting ? this.#hearGreeting(sink) : sink);
  }

  cancel(id: RequestId, reason: string): void {
    const at = this.#held?.findIndex(({ request }) => request.id === id) ?? -1;
    if (at === -1) this.#link.cancel(id, reason);
    else this.#held?.splice(at, 1);
  }

  notify(notification: RpcNotification): void {
    if (notification.method === "notifications/initialized") this.#initialized = notification;
    this.#link.notify(notification);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#backoff.stop();
    await this.#link.close();
    await this.#channel.close();
    this.#refuseHeld(new PortolanError("connection-closed", "The connection was closed"));
  }

  #hearGreeting(sink: Sink): Sink {
    return {
      failed: (reason) => sink.failed(reason),
      response: (response) => {
        if ("result" in response) this.#version = response.result["protocolVersion"];
        sink.response(response);
      },
    };
  }

  #streamLost(reason: Error): void {
    if (this.#isClosed) return;
    if (this.#held) this.#lostAgain = reason;
    else if (!this.#initialized) this.#lost(reason);
    else {
      this.#held = [];
      this.#traffic.odd(reason.message);
      this.#renewLater(reason);
    }
  }

  /** Somebody waits: the next attempt is made at once, unless one is under way. */
  #hold(held: Held): void {
    this.#held?.push(held);
    if (!this.#backoff.isWaiting) return;
    this.#backoff.stop();
    this.#renew();
  }

  #renewLater(reason: Error): void {
    this.#backoff.retryMs = this.#channel.retryMs;
    this.#backoff.wait(reason, () => this.#renew());
  }

  async #renew(): Promise<void> {
    const channel = new SseChannel(this.#traffic);
    this.#channel = channel;
    this.#lostAgain = undefined;
    let stopTimer = () => {};
    const watch = () => {
      stopTimer = this.#traffic.clock.after(attemptMs, () => {
        // Whoever signs in takes the time that it takes.
        if (this.#traffic.sender.isHeld) watch();
        else channel.expire(attemptMs);
      });
    };
    watch();
    try {
      await channel.connect();
      await this.#link.open(this.#events);
      await this.#greet();
      // The stream may have ended right behind the answer.
      if (this.#lostAgain) throw this.#lostAgain;
    } catch (thrown) {
      await this.#failed(toError(thrown));
      return;
    } finally {
      stopTimer();
    }
    this.#backoff.failures = 0;
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const one of held) this.#sendHeld(one);
    this.#traffic.events.renewed?.();
  }

  async #greet(): Promise<void> {
    const greeting = this.#greeting;
    const initialized = this.#initialized;
    if (!greeting || !initialized) throw new Error("a stream is opened again after a handshake");
    const response = await new Promise<RpcResponse>((resolve, failed) => {
      const request = { ...greeting, id: this.#traffic.ownId("initialize") };
      this.#link.exchange(request, { response: resolve, failed });
    });
    if ("error" in response) throw forgotten(`refuses a new one: ${response.error.message}`);
    if (response.result["protocolVersion"] !== this.#version) {
      throw forgotten("offers a new one in another protocol version");
    }
    this.#link.notify(initialized);
  }

  async #failed(reason: Error): Promise<void> {
    await this.#channel.close();
    if (this.#isClosed) return;
    this.#backoff.failures += 1;
    this.#refuseHeld(reason);
    if (reason instanceof HttpFailure && isPassing(reason)) {
      this.#traffic.odd(reason.message);
      this.#renewLater(reason);
    } else this.#lost(reason);
  }

  /** They were never sent, whatever the reason is. */
  #refuseHeld(reason: Error): void {
    const failure = new PortolanError("connection-closed", reason.message, { cause: reason });
    for (const { sink } of this.#held?.splice(0) ?? []) sink.failed(Object.assign(failure, { neverRan: true }));
  }

  #sendHeld({ request, sink }: Held): void {
    try {
      this.#link.exchange(request, sink);
    } catch (reason) {
      sink.failed(toError(reason));
    }
  }
}

function forgotten(what: string): PortolanError {
  return new PortolanError("connection-closed", `The server has forgotten the session and ${what}`);
}
