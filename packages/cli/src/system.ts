/** What a command sees of the machine: everything it reads, writes and asks goes through here. */
export interface World {
  readonly argv: readonly string[];
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** The file that this program was started from, to start itself again. */
  readonly self: string;
  /** Does something last of all, however the program ends, unless what it gives is called before. */
  onExit(work: () => void): () => void;
}
