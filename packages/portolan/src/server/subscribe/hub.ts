import type { JsonObject } from "../../jsonrpc/message.ts";
import type { ErrorReport } from "../define/definition.ts";
import type { Subscribers } from "./subscribers.ts";
import type { SharedWatch } from "./watches.ts";

/** The notifications that a server sends outside a request, each with its params. */
export interface Topics {
  "tools/list_changed": Record<string, never>;
  "prompts/list_changed": Record<string, never>;
  "resources/list_changed": Record<string, never>;
  "resources/updated": { uri: string };
  message: { level: string; data: unknown; logger?: string };
  "elicitation/complete": { elicitationId: string };
}

/** The receivers of a publication. Default: every subscriber of its topic. */
export interface Audience {
  /** The key of a principal: only its clients receive the publication. */
  principal?: string;
  /** The id of a session over HTTP: only this session receives the publication. */
  session?: string;
}

/** A receiver of publications: a stateful connection, or a stream that a client listens on. */
export interface Listener {
  readonly principal: string;
  /** The id of its session, over HTTP. */
  readonly sessionId?: string | undefined;
  /** Returns whether it wants a publication. Not asked for changes of resources, which go to their subscribers. */
  wants(topic: string, payload: JsonObject): boolean;
  deliver(topic: string, payload: JsonObject): void;
}

/** Delivers publications to listeners. */
export class Hub {
  /** The watches of resources that listeners share, by URI. */
  readonly watches: Map<string, SharedWatch> = new Map();
  /** The listeners of changes of resources; made with the first subscription. */
  subscribers: Subscribers | undefined;
  /** The id of the publication that is being delivered, if other processes receive it too. */
  publicationId: string | undefined;
  readonly #listeners = new Set<Listener>();
  readonly report: (error: unknown, about?: ErrorReport) => void;

  constructor(report: (error: unknown) => void) {
    this.report = report;
  }

  /** Delivers to every listener that wants the topic, each of them once. One that throws does not keep the others from receiving it. */
  publish(topic: string, payload: JsonObject, audience: Audience = {}, id?: string): void {
    this.publicationId = id;
    const isUpdate = topic === "resources/updated";
    const listeners = isUpdate ? this.subscribers?.of(String(payload["uri"])) : this.#listeners;
    for (const listener of listeners ?? []) {
      if (audience.principal !== undefined && audience.principal !== listener.principal) continue;
      if (audience.session !== undefined && audience.session !== listener.sessionId) continue;
      try {
        if (isUpdate || listener.wants(topic, payload)) listener.deliver(topic, payload);
      } catch (error) {
        this.report(error);
      }
    }
    this.publicationId = undefined;
  }

  addListener(listener: Listener): void {
    this.#listeners.add(listener);
  }

  removeListener(listener: Listener): void {
    this.#listeners.delete(listener);
  }
}

/** A notification outside a request, as processes hand it to each other. */
export interface Publication {
  readonly topic: string;
  readonly payload: JsonObject;
  readonly audience: Audience | undefined;
  /** The same in all processes. */
  readonly id: string | undefined;
}
