import type { JsonObject } from "portolan";
import type { ModelCapabilities, ModelTraits } from "../model.ts";

/** How much a provider may send in one turn. */
export interface ModelLimits {
  /** Characters of one event. */
  readonly eventChars: number;
  /** Characters of text and thinking. */
  readonly textChars: number;
  readonly toolCalls: number;
  /** Characters of the arguments of one call. */
  readonly argumentChars: number;
  /** Characters of all that comes, whatever it says. */
  readonly totalChars: number;
}

/** Bounds that no honest turn reaches. */
export const defaultLimits: ModelLimits = {
  eventChars: 4 * 1024 * 1024,
  textChars: 8 * 1024 * 1024,
  toolCalls: 128,
  argumentChars: 2 * 1024 * 1024,
  totalChars: 64 * 1024 * 1024,
};

/** A pause before the request is sent again. */
export interface Retry {
  /** 1 for the first. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly reason: Error;
}

/** What all adapters of providers share. */
export interface ProviderOptions {
  /** The model, as its provider calls it. */
  readonly model: string;
  /** Its name here; the provider's unless given. */
  readonly id?: string;
  /** Sent to `baseUrl` only, and shown nowhere. */
  readonly apiKey?: string | undefined;
  readonly headers?: { readonly [name: string]: string };
  /** Sends requests over plain http to other machines; whoever is on the way reads the key. */
  readonly allowHttp?: boolean;
  readonly capabilities?: Partial<ModelCapabilities>;
  readonly traits?: ModelTraits;
  /** Members that are added to each request: `{ reasoning_effort: "low" }`. */
  readonly extra?: JsonObject;
  /** Members made from the metadata of a request, which servers write; nothing of it is sent unless this says so. */
  readonly passMetadata?: (metadata: JsonObject) => JsonObject | undefined;
  /** How often a request is sent again when nothing has come of it yet; 3 unless given. */
  readonly retries?: number;
  /** The longest pause before that; a provider that asks for a longer one has failed. 60 s unless given. */
  readonly maxDelayMs?: number;
  /** How long the provider may be silent; 4 min unless given. */
  readonly idleMs?: number;
  /** How long a turn may take; 30 min unless given. */
  readonly totalMs?: number;
  readonly limits?: Partial<ModelLimits>;
  /** Hears of each request that is sent again. */
  readonly onRetry?: (retry: Retry) => void;
  readonly fetch?: typeof fetch;
  readonly clock?: RetryClock;
}

/** Where time comes from; tests bring their own. */
export interface RetryClock {
  /** Calls once, after at least so long; returns how to prevent it. */
  after(ms: number, call: () => void): () => void;
}
