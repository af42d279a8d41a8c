import type { Redirect } from "./redirect.ts";

/** Where `loopback` listens and how it sends the person off. */
export interface LoopbackOptions {
  /** One that is free unless given, or the one that is registered. */
  readonly port?: number;
  /** A random one unless given, or the one that is registered. */
  readonly path?: string;
  /** How the address names this machine: `"127.0.0.1"` unless given; some authorization servers want `"localhost"`. */
  readonly host?: "127.0.0.1" | "localhost";
  /** How long the person may take; 10 minutes unless said otherwise. */
  readonly timeoutMs?: number;
  /** Opens a browser; the system's own unless given. */
  readonly open?: (url: URL) => void | Promise<void>;
  /** Tells the person the address when no browser could be opened; by a line on stderr unless given. */
  readonly show?: (url: URL) => void;
}

/** Sends the person to a browser and waits on a port of this machine for the way back; it needs Node. */
export function loopback(options: LoopbackOptions = {}): Redirect {
  return { begin: async (registered) => (await import("./node/loopback.ts")).beginLoopback(options, registered) };
}

/** Opens a secure address, or one of this machine, in the system's browser without a shell; it needs Node. */
export async function openBrowser(url: URL): Promise<void> {
  return (await import("./node/browser.ts")).openBrowser(url);
}
