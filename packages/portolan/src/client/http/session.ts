import { PortolanError } from "../../errors.ts";
import type { JsonObject, RpcNotification, RpcRequest, RpcResponse } from "../../jsonrpc/message.ts";
import { headerKeys } from "../../transport/headers.ts";
import type { IncomingEvent } from "../../transport/sse.ts";
import { HttpFailure } from "./failure.ts";
import { GetStream } from "./get-stream.ts";
import { sendOneWay } from "./one-way.ts";
import type { Traffic } from "./requests.ts";
import type { Head } from "./transport.ts";

/** How long the server may take to forget a session that ends. */
const farewellMs = 2_000;
/** How long the server may take to open its stream before it is asked something; some open it with the first message. */
const openingMs = 500;
const visible = /^[!-~]+$/;

/** The handshake of a link, what followed from it, and what is done when the server has forgotten it. */
export class Session {
  readonly #traffic: Traffic;
  /** Sends a request past all that waits. */
  readonly #ask: (request: RpcRequest) => Promise<RpcResponse>;
  #greeting: RpcRequest | undefined;
  #initialized: RpcNotification | undefined;
  /** What is sent when the server is ready; undefined while it is. */
  #held: (() => void)[] | undefined;
  #renewal: Promise<void> | undefined;
  #failedRenewals = 0;
  #stream: GetStream | undefined;
  #hasNoStream = false;
  /** Whether the server has opened a stream in this session: a 404 to another one then means that the session is lost. */
  #hadStream = false;

  constructor(traffic: Traffic, ask: (request: RpcRequest) => Promise<RpcResponse>) {
    this.#traffic = traffic;
    this.#ask = ask;
  }

  /** A handshake begins: what an earlier one led to is over. */
  reset(): void {
    this.#stream?.stop();
    this.#hadStream = false;
    this.#be(undefined, undefined);
  }

  /** The server has answered the handshake. */
  begin(request: RpcRequest, { protocolVersion }: JsonObject, head: Head | undefined): void {
    const id = head?.header(headerKeys.session);
    if (id !== undefined && !visible.test(id)) this.#traffic.odd("a session id that is not visible ASCII");
    this.#greeting = request;
    this.#be(
      id !== undefined && visible.test(id) ? id : undefined,
      typeof protocolVersion === "string" && visible.test(protocolVersion) ? protocolVersion : undefined,
    );
  }

  /** Ends the handshake; what is sent meanwhile waits, because every POST has its own way and could be the faster one. */
  complete(initialized: RpcNotification): void {
    this.#initialized = initialized;
    this.#hold();
    this.#traffic.post(initialized, (failure) => {
      if (failure) this.#traffic.odd(failure.message);
      this.#openStream().then(() => this.#release());
    });
  }

  /** Runs at once, or when the server is ready. */
  whenReady(run: () => void): void {
    if (this.#held) this.#held.push(run);
    else run();
  }

  /** Introduces the client anew, once for all whose requests found that this session was lost. */
  renew(lostId: string | undefined): Promise<void> {
    if (this.#renewal) return this.#renewal;
    if (this.#traffic.identity.sessionId !== lostId) return Promise.resolve();
    this.#renewal = this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** Tells the server that the session is over, and waits for its answer, but not for long. */
  async close(): Promise<void> {
    const { identity, clock } = this.#traffic;
    this.#stream?.stop();
    if (identity.sessionId === undefined) return;
    await new Promise<void>((resolve) => {
      const giveUp = sendOneWay(this.#traffic, this.#traffic.toDelete(), () => {
        stopWaiting();
        resolve();
      });
      const stopWaiting = clock.after(farewellMs, () => {
        giveUp();
        resolve();
      });
    });
    this.#be(undefined, undefined);
  }

  async #renew(): Promise<void> {
    const traffic = this.#traffic;
    const { sessionId, version } = traffic.identity;
    const greeting = this.#greeting;
    const initialized = this.#initialized;
    if (!greeting || !initialized) throw new Error("a session begins with a handshake");
    this.#stream?.stop();
    this.#hold();
    try {
      this.#be(undefined, undefined);
      const response = await this.#ask({ ...greeting, id: traffic.ownId("initialize") });
      if ("error" in response) throw forgotten(`refuses a new one: ${response.error.message}`);
      if (traffic.identity.version !== version) throw forgotten("offers a new one in another protocol version");
      await new Promise<void>((resolve, reject) => {
        traffic.post(initialized, (failure) => (failure ? reject(failure) : resolve()));
      });
      this.#failedRenewals = 0;
      this.#hadStream = false;
      // That the lost session had none says nothing about this one.
      this.#hasNoStream = false;
      await this.#openStream();
    } catch (reason) {
      // The next request finds the session lost again, and so another attempt is made.
      this.#be(sessionId, version);
      this.#failedRenewals += 1;
      throw reason;
    } finally {
      this.#release();
    }
    if (!traffic.isClosed) traffic.events.renewed?.();
  }

  #be(sessionId: string | undefined, version: string | undefined): void {
    this.#traffic.identity.sessionId = sessionId;
    this.#traffic.identity.version = version;
  }

  #hold(): void {
    this.#held ??= [];
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const run of held) run();
  }

  /** Resolves when the server has opened the stream or will not: what it says before is lost, so it is not asked before. */
  #openStream(after?: Error): Promise<void> {
    this.#stream?.stop();
    if (this.#hasNoStream || this.#traffic.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const stopWaiting = this.#traffic.clock.after(openingMs, resolve);
      const settle = () => {
        stopWaiting();
        resolve();
      };
      const opened = () => {
        this.#hadStream = true;
        settle();
      };
      const ended = (reason: Error) => {
        settle();
        this.#streamEnded(reason);
      };
      const event = (one: IncomingEvent) => this.#traffic.receiveEvent(one);
      const options = { failures: this.#failedRenewals };
      const stream = new GetStream(this.#traffic, { opened, event, ended }, options);
      this.#stream = stream;
      if (this.#failedRenewals === 0) stream.open();
      else stream.openLater(after);
    });
  }

  #streamEnded(reason: Error): void {
    const { sessionId } = this.#traffic.identity;
    const status = reason instanceof HttpFailure ? reason.status : undefined;
    if (sessionId !== undefined && this.#hadStream && (status === 404 || status === 400)) {
      this.renew(sessionId).catch((why: Error) => {
        this.#traffic.odd(why.message);
        this.#openStream(why);
      });
    } else if (status === 405 || status === 404) this.#hasNoStream = true;
    else this.#traffic.odd(reason.message);
  }
}

function forgotten(what: string): PortolanError {
  return new PortolanError("connection-closed", `The server has forgotten the session and ${what}`);
}
