import type { MaybePromise } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams } from "../../protocol/errors.ts";
import type { Peer } from "../../protocol/revision.ts";
import { chooseStatefulRevision } from "../../protocol/revisions/index.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../../protocol/types/index.ts";
import { mayLog } from "../call/context.ts";
import { maxCapabilitiesCharacters, maxClientInfoCharacters } from "../limits.ts";
import type { Hub, Listener } from "../subscribe/hub.ts";
import { addSubscription } from "../subscribe/watches.ts";

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
  readonly sessionId: string | undefined;
  #peer: Peer;
  readonly hub: Hub;
  readonly #notify: (method: string, params: JsonObject) => void;
  /** Made with the first subscription: idle sessions keep as little as possible. */
  subscriptions: Subscriptions | undefined;
  isEnded = false;
  /** Called when the session ends. */
  onEnd: (() => void) | undefined;

  constructor(
    peer: Peer,
    principal: string,
    hub: Hub,
    notify: (method: string, params: JsonObject) => void,
    sessionId?: string,
  ) {
    this.sessionId = sessionId;
    this.#peer = peer;
    this.principal = principal;
    this.hub = hub;
    this.#notify = notify;
    hub.addListener(this);
  }

  get peer(): Peer {
    return this.#peer;
  }

  setLogLevel(logLevel: LogLevel): void {
    this.#peer = { ...this.#peer, logLevel };
  }

  async subscribe(uri: string, hold: () => Promise<() => void> | undefined): Promise<void> {
    await addSubscription(this, uri, hold);
  }

  unsubscribe(uri: string): void {
    this.subscriptions?.get(uri)?.then(
      (release) => release(),
      () => {},
    );
    this.subscriptions?.delete(uri);
    this.hub.subscribers?.delete(uri, this);
  }

  wants(topic: string, payload: JsonObject): boolean {
    return topic !== "message" || mayLog(this.#peer, payload["level"] as LogLevel);
  }

  deliver(topic: string, payload: JsonObject): void {
    const method = `notifications/${topic}`;
    const params = this.#peer.revision.encodeNotification(method, payload);
    if (params) this.#notify(method, params);
  }

  /** Stops listening, and releases all subscriptions. */
  end(): void {
    this.isEnded = true;
    this.hub.removeListener(this);
    for (const uri of [...(this.subscriptions?.keys() ?? [])]) this.unsubscribe(uri);
    this.onEnd?.();
  }
}

/** Begins the session that the params of an `initialize` request describe; throws the error for the client if it cannot. */
export function beginSession(
  params: JsonObject,
  principal: string,
  hub: Hub,
  notify: (method: string, params: JsonObject) => void,
): Session {
  const peer = peerFromHandshake(params);
  const problem = problemOfHandshake(peer, params);
  if (problem !== undefined) throw invalidParams(problem);
  return new Session(peer, principal, hub, notify);
}

/** Returns the peer that the params of an `initialize` request describe, as far as a session keeps it. */
export function peerFromHandshake({ protocolVersion, capabilities, clientInfo }: JsonObject): Peer {
  return {
    revision: chooseStatefulRevision(protocolVersion),
    capabilities: capabilities as ClientCapabilities,
    info: (clientInfo && keptInfo(clientInfo as JsonObject)) as Implementation | undefined,
  };
}

/** Returns the name, the title and the version of a client. Large icons and the like would fill the memory. */
function keptInfo({ name, title, version }: JsonObject): Implementation {
  const cut = (text: unknown) => (typeof text === "string" ? text.slice(0, maxClientInfoCharacters) : undefined);
  // Copied as JSON, because the part of a string keeps the whole string in memory.
  return JSON.parse(JSON.stringify({ name: cut(name), title: cut(title), version: cut(version) }));
}

/** Returns why a handshake begins no session; undefined if it does. */
export function problemOfHandshake({ revision, capabilities }: Peer, params: JsonObject): string | undefined {
  const problem = revision.requests.get("initialize")?.params(params, "params");
  if (problem !== undefined) return problem;
  const length = lengthOf(capabilities);
  if (length !== undefined && length <= maxCapabilitiesCharacters) return undefined;
  const most = `params.capabilities: expected at most ${maxCapabilitiesCharacters} characters of JSON`;
  return length === undefined ? `${most}, and fewer levels` : `${most}, got ${length}`;
}

/** Returns the length of a value as JSON; undefined if it is nested too deeply. */
function lengthOf(value: unknown): number | undefined {
  try {
    return JSON.stringify(value).length;
  } catch {
    return undefined;
  }
}
