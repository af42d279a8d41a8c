/** What a fetch server is told. */
export interface FetchOptions {
  /** Hosts that may be fetched though their addresses are not public; by http too where they are loopback. */
  readonly privateHosts?: readonly string[];
  /** Whether robots.txt is not asked; false unless said otherwise. */
  readonly ignoreRobots?: boolean;
  /** The largest answer, after it was decompressed; 5 MiB unless said otherwise. */
  readonly maxBytes?: number;
  /** How long fetching may take in all; 20 s unless said otherwise. */
  readonly timeoutMs?: number;
  /** The largest image; 1 MiB unless said otherwise. */
  readonly maxImageBytes?: number;
  /** The most characters in one result; 100,000 unless said otherwise. */
  readonly maxLength?: number;
  /** How long the conversion of a page may take; 10 s unless said otherwise. */
  readonly convertMs?: number;
  /** How many pages are kept for the next part of them; 32 unless said otherwise. */
  readonly cachePages?: number;
  /** How many characters of pages are kept; 32 million unless said otherwise. */
  readonly cacheLength?: number;
  /** How long they are kept; 10 minutes unless said otherwise. */
  readonly cacheMs?: number;
  /** Finds the addresses of a host; the system's resolver unless given. */
  readonly lookup?: (host: string) => Promise<readonly string[]>;
}

export type Settings = Required<Omit<FetchOptions, "lookup">> & Pick<FetchOptions, "lookup">;

export function toSettings(given: FetchOptions): Settings {
  return {
    privateHosts: [],
    ignoreRobots: false,
    maxBytes: 5 * 1024 * 1024,
    timeoutMs: 20_000,
    maxImageBytes: 1024 * 1024,
    maxLength: 100_000,
    convertMs: 10_000,
    cachePages: 32,
    cacheLength: 32_000_000,
    cacheMs: 600_000,
    ...given,
  };
}
