import type { MaybePromise } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Peer } from "../../protocol/revision.ts";
import { chooseStatefulRevision } from "../../protocol/revisions/index.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../../protocol/types/index.ts";
import { mayLog } from "../call/context.ts";
import { covers, type Listener } from "../subscribe/hub.ts";

/** The settings that requests of a stateful peer change. */
export interface SessionSettings {
  setLogLevel(level: LogLevel): MaybePromise<void>;
  /** Adds a subscription. `hold` begins the watch of the resource and resolves to the function that releases it. */
  subscribe(uri: string, hold: () => Promise<() => void> | undefined): Promise<void>;
  unsubscribe(uri: string): MaybePromise<void>;
}

/** The functions that release the watches of subscribed resources, by URI; undefined for a resource without a watch. */
export type Subscriptions = Map<string, Promise<() => void> | undefined>;

/** The state of one stateful peer: who it is, its log level and its subscriptions. */
export class Session implements Listener, SessionSettings {
  readonly principal: string;
  #peer: Peer;
  readonly #notify: (method: string, params: JsonObject) => void;
  readonly subscriptions: Subscriptions = new Map();

  constructor(peer: Peer, principal: string, notify: (method: string, params: JsonObject) => void) {
    this.#peer = peer;
    this.principal = principal;
    this.#notify = notify;
  }

  get peer(): Peer {
    return this.#peer;
  }

  setLogLevel(logLevel: LogLevel): void {
    this.#peer = { ...this.#peer, logLevel };
  }

  async subscribe(uri: string, hold: () => Promise<() => void> | undefined): Promise<void> {
    const { addSubscription } = await import("../subscribe/listen.ts");
    await addSubscription(this.subscriptions, uri, hold);
  }

  unsubscribe(uri: string): void {
    this.subscriptions.get(uri)?.then(
      (release) => release(),
      () => {},
    );
    this.subscriptions.delete(uri);
  }

  wants(topic: string, payload: JsonObject): boolean {
    if (topic === "resources/updated") return this.#isSubscribedTo(String(payload["uri"]));
    if (topic === "message") return mayLog(this.#peer, payload["level"] as LogLevel);
    return true;
  }

  deliver(topic: string, payload: JsonObject): void {
    const method = `notifications/${topic}`;
    const params = this.#peer.revision.encodeNotification(method, payload);
    if (params) this.#notify(method, params);
  }

  /** Releases all subscriptions. */
  end(): void {
    for (const uri of [...this.subscriptions.keys()]) this.unsubscribe(uri);
  }

  #isSubscribedTo(uri: string): boolean {
    if (this.subscriptions.has(uri)) return true;
    for (const subscribed of this.subscriptions.keys()) if (covers(subscribed, uri)) return true;
    return false;
  }
}

/** Returns the peer that the params of an `initialize` request describe. */
export function peerFromHandshake(params: JsonObject): Peer {
  const { protocolVersion, capabilities, clientInfo } = params;
  return {
    revision: chooseStatefulRevision(protocolVersion),
    capabilities: capabilities as ClientCapabilities,
    info: clientInfo as Implementation,
  };
}
