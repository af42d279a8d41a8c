/** A server to start as a child process that speaks over its standard input and output. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Given to the child beside the few variables every program needs; nothing else of ours is passed on. */
  readonly env?: { readonly [name: string]: string };
  /** The longest line that is read; 16 MiB unless said otherwise. */
  readonly maxMessageBytes?: number;
  /** Hears every line the child writes to its standard error, as it is written. */
  readonly onStderr?: (line: string) => void;
  /** How long each step of the shutdown may take: end of input, SIGTERM, SIGKILL. 2 s unless said otherwise. */
  readonly graceMs?: number;
}
