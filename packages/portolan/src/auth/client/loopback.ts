import { checkOptions, type OptionNames } from "../../options.ts";
import type { Redirect } from "./redirect.ts";

/** How `loopback` listens and opens the browser. */
export interface LoopbackOptions {
  /** Default: the registered port, else any free one. */
  readonly port?: number;
  /** Default: the registered path, else a random one. */
  readonly path?: string;
  /** Host in the redirect URI; some authorization servers require `"localhost"`. Default: `"127.0.0.1"`. */
  readonly host?: "127.0.0.1" | "localhost";
  /** How long the person may take. Default: 10 minutes. */
  readonly timeoutMs?: number;
  /** Opens the browser. Default: `openBrowser`. */
  readonly open?: (url: URL) => void | Promise<void>;
  /** Shows the URL when the browser could not be opened. Default: writes a line to stderr. */
  readonly show?: (url: URL) => void;
}

const optionNames: OptionNames<LoopbackOptions> = { port: 1, path: 1, host: 1, timeoutMs: 1, open: 1, show: 1 };

/** Opens a browser and waits on a local port until the person comes back. Requires Node. */
export function loopback(options: LoopbackOptions = {}): Redirect {
  checkOptions(options, optionNames, "loopback");
  return { begin: async (registered) => (await import("#auth-loopback")).beginLoopback(options, registered) };
}
