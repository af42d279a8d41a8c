import type { Hub, Listener } from "./hub.ts";

/** The listeners of one URI. */
interface SubscribedUri {
  readonly uri: string;
  readonly listeners: Set<Listener>;
}

const slash = 0x2f;

/**
 * Finds the listeners of a URI: those that subscribed to it, or to a URI above it by whole path segments. The work depends
 * on the length of the URI, and not on the number of subscriptions.
 */
export class Subscribers {
  /** The subscribed URIs by their hash. */
  readonly #byHash = new Map<number, SubscribedUri[]>();
  /** Random, so that a client cannot choose URIs with equal hashes. */
  readonly #seed = crypto.getRandomValues(new Int32Array(1))[0] ?? 0;

  add(uri: string, listener: Listener): void {
    const hash = this.#hash(uri);
    const bucket = this.#byHash.get(hash) ?? [];
    this.#byHash.set(hash, bucket);
    const known = bucket.find((each) => each.uri === uri);
    if (known) known.listeners.add(listener);
    else bucket.push({ uri, listeners: new Set([listener]) });
  }

  delete(uri: string, listener: Listener): void {
    const hash = this.#hash(uri);
    const bucket = this.#byHash.get(hash) ?? [];
    const at = bucket.findIndex((each) => each.uri === uri);
    const known = bucket[at];
    if (!known?.listeners.delete(listener) || known.listeners.size > 0) return;
    bucket.splice(at, 1);
    if (bucket.length === 0) this.#byHash.delete(hash);
  }

  /** Returns every listener of a URI once. */
  of(uri: string): Set<Listener> {
    const found = new Set<Listener>();
    let hash = this.#seed;
    for (let at = 0; at < uri.length; at++) {
      const code = uri.charCodeAt(at);
      // The URI above may be written with or without the slash at its end.
      if (code === slash) this.#collect(uri, at, hash, found);
      hash = nextHash(hash, code);
      if (code === slash) this.#collect(uri, at + 1, hash, found);
    }
    this.#collect(uri, uri.length, hash, found);
    return found;
  }

  /** Returns every subscription. */
  all(): [uri: string, listener: Listener][] {
    const subscribed = [...this.#byHash.values()].flat();
    return subscribed.flatMap(({ uri, listeners }) => [...listeners].map((each): [string, Listener] => [uri, each]));
  }

  /** Adds the listeners of the first `length` characters of a URI. */
  #collect(uri: string, length: number, hash: number, found: Set<Listener>): void {
    for (const subscribed of this.#byHash.get(hash) ?? []) {
      if (subscribed.uri.length !== length || !uri.startsWith(subscribed.uri)) continue;
      for (const listener of subscribed.listeners) found.add(listener);
    }
  }

  #hash(uri: string): number {
    let hash = this.#seed;
    for (let at = 0; at < uri.length; at++) hash = nextHash(hash, uri.charCodeAt(at));
    return hash;
  }
}

/** Returns the hash of a text and one more character (FNV-1a). */
function nextHash(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193);
}

/** Returns the subscribers of a hub, which are made with the first subscription. */
export function subscribersOf(hub: Hub): Subscribers {
  hub.subscribers ??= new Subscribers();
  return hub.subscribers;
}
