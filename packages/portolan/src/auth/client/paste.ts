import { checkOptions, type OptionNames } from "../../options.ts";
import type { Redirect } from "./redirect.ts";

/** How `paste` talks with the person. */
export interface PasteOptions {
  /** A URL where nothing listens. Default: the registered one, else a random port of this machine. */
  readonly redirectUri?: string;
  /** Shows the URL that the person opens, on any machine. Default: writes a line to stderr. */
  readonly show?: (url: URL) => void;
  /** Asks for a line of text. Default: asks on stderr and reads stdin. */
  readonly ask?: (question: string, signal: AbortSignal) => Promise<string>;
}

const optionNames: OptionNames<PasteOptions> = { redirectUri: 1, show: 1, ask: 1 };

/** Lets the person open the sign-in page anywhere and paste the URL that they were sent back to. Requires Node. */
export function paste(options: PasteOptions = {}): Redirect {
  checkOptions(options, optionNames, "paste");
  return { begin: async (registered) => (await import("#auth-paste")).beginPaste(options, registered) };
}
