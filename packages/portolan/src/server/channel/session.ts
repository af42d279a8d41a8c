import type { MaybePromise } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams } from "../../protocol/errors.ts";
import type { Peer } from "../../protocol/revision.ts";
import { negotiate } from "../../protocol/revisions/index.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../../protocol/types/index.ts";
import { mayLog } from "../call/context.ts";
import { covers, type Listener, maxSubscriptions } from "../subscribe/hub.ts";

/** What a stateful peer may have remembered by its requests. */
export interface SessionMemory {
  setLogLevel(level: LogLevel): MaybePromise<void>;
  subscribe(uri: string, hold: () => Promise<() => void> | undefined): Promise<void>;
  unsubscribe(uri: string): MaybePromise<void>;
}

/** What is remembered of a stateful peer: the shell that lets the kernel see self-describing requests. */
export class Session implements Listener, SessionMemory {
  readonly principal: string;
  #peer: Peer;
  readonly #tell: (method: string, params: JsonObject) => void;
  readonly #subscriptions = new Map<string, Promise<() => void> | undefined>();

  constructor(peer: Peer, principal: string, tell: (method: string, params: JsonObject) => void) {
    this.#peer = peer;
    this.principal = principal;
    this.#tell = tell;
  }

  get peer(): Peer {
    return this.#peer;
  }

  setLogLevel(logLevel: LogLevel): void {
    this.#peer = { ...this.#peer, logLevel };
  }

  /** Follows a resource; `hold` begins what that needs and resolves to letting go of it. */
  async subscribe(uri: string, hold: () => Promise<() => void> | undefined): Promise<void> {
    if (this.#subscriptions.has(uri)) return;
    expectRoom(this.#subscriptions.size);
    const held = hold();
    this.#subscriptions.set(uri, held);
    try {
      await held;
    } catch (cause) {
      this.#subscriptions.delete(uri);
      throw cause;
    }
  }

  unsubscribe(uri: string): void {
    this.#subscriptions.get(uri)?.then(
      (release) => release(),
      () => {},
    );
    this.#subscriptions.delete(uri);
  }

  /** Lets go of every resource but these. */
  keepOnly(uris: readonly string[]): void {
    for (const uri of [...this.#subscriptions.keys()]) if (!uris.includes(uri)) this.unsubscribe(uri);
  }

  wants(topic: string, payload: JsonObject): boolean {
    if (topic === "resources/updated") return this.#follows(String(payload["uri"]));
    if (topic === "message") return mayLog(this.#peer, payload["level"] as LogLevel);
    return true;
  }

  hear(topic: string, payload: JsonObject): void {
    const method = `notifications/${topic}`;
    const params = this.#peer.revision.encodeNotification(method, payload);
    if (params) this.#tell(method, params);
  }

  /** Lets go of everything that was begun for this session. */
  end(): void {
    for (const uri of [...this.#subscriptions.keys()]) this.unsubscribe(uri);
  }

  #follows(uri: string): boolean {
    if (this.#subscriptions.has(uri)) return true;
    for (const subscribed of this.#subscriptions.keys()) if (covers(subscribed, uri)) return true;
    return false;
  }
}

/** Throws if a session that follows so many resources may not follow another. */
export function expectRoom(followed: number): void {
  if (followed < maxSubscriptions) return;
  throw invalidParams(`uri: this session follows ${maxSubscriptions} resources already; unsubscribe from one first`);
}

/** The peer that an `initialize` introduces. */
export function peerFromHandshake(params: JsonObject): Peer {
  const { protocolVersion, capabilities, clientInfo } = params;
  return {
    revision: negotiate(protocolVersion),
    capabilities: capabilities as ClientCapabilities,
    info: clientInfo as Implementation,
  };
}
