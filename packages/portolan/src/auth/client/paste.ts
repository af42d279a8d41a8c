import type { Redirect } from "./redirect.ts";

/** How `paste` talks with the person. */
export interface PasteOptions {
  /** Where nobody listens: the one that is registered, or a random one of this machine, unless given. */
  readonly redirectUri?: string;
  /** Tells the person the address to open, on whichever machine; by a line on stderr unless given. */
  readonly show?: (url: URL) => void;
  /** Asks for a line of text; on stderr and from stdin unless given. */
  readonly ask?: (question: string, signal: AbortSignal) => Promise<string>;
}

/** Lets the person open the address anywhere and paste the one they are sent back to; it needs Node. */
export function paste(options: PasteOptions = {}): Redirect {
  return { begin: async (registered) => (await import("./node/paste.ts")).beginPaste(options, registered) };
}
