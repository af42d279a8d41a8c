interface Limits {
  readonly fileBytes: number;
  readonly depth: number;
  readonly servers: number;
  /** Arguments, variables or headers of one server. */
  readonly items: number;
  /** One string, written or with its variables put in; no system takes longer arguments. */
  readonly stringChars: number;
  /** All strings of one server with their variables put in. */
  readonly entryChars: number;
  readonly nameChars: number;
}

/** How much of a configuration is read; files come from others too. */
export const limits: Limits = {
  fileBytes: 4 * 1024 * 1024,
  depth: 64,
  servers: 1_000,
  items: 1_000,
  stringChars: 128 * 1024,
  entryChars: 1024 * 1024,
  nameChars: 256,
};
