/** Options of `createFetch`. */
export interface FetchOptions {
  /** Hosts that may be fetched although their addresses are not public; loopback hosts also by http. */
  readonly privateHosts?: readonly string[];
  /** Ignores robots.txt. Default: false. */
  readonly ignoreRobots?: boolean;
  /** Size limit of a response after decompression. Default: 5 MiB. */
  readonly maxBytes?: number;
  /** Time for a fetch with all its redirects. Default: 20 s. */
  readonly timeoutMs?: number;
  /** Size limit of an image. Default: 1 MiB. */
  readonly maxImageBytes?: number;
  /** Characters in one result. Default: 100,000. */
  readonly maxLength?: number;
  /** Time for the conversion of a page. Default: 10 s. */
  readonly convertMs?: number;
  /** Pages in the cache, which serves the next parts of a page. Default: 32. */
  readonly cachePages?: number;
  /** Characters in the cache. Default: 32 million. */
  readonly cacheLength?: number;
  /** Lifetime of a cached page. Default: 10 minutes. */
  readonly cacheMs?: number;
  /** Resolves a host to its addresses. Default: the system's resolver. */
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
