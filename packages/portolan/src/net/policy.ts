/** What may be fetched when somebody else has named the address. */
export interface FetchPolicy {
  /**
   * Hosts, such as `localhost` or `idp.corp`, that may be reached though their addresses are not public; by http too
   * where they are loopback. None unless given.
   */
  readonly privateHosts?: readonly string[];
  /**
   * A host that a person has named: where it belongs to a private network, others may belong to one too. What is on this
   * machine, or is there for this machine alone, stays out of reach. Needs a resolver.
   */
  readonly neighbourOf?: string;
  /** Whether a redirect of a GET is followed: `"same-origin"` unless said otherwise; every step is checked anew. */
  readonly redirects?: "never" | "same-origin" | "anywhere";
  /** How many redirects are followed one after the other; 3 unless said otherwise. */
  readonly maxRedirects?: number;
  /** Has the last word about an address that is otherwise allowed; `addresses` are those that its host resolves to. */
  readonly allow?: (url: URL, addresses: readonly string[]) => boolean | Promise<boolean>;
  /** Finds the addresses of a host; the system's resolver unless given. */
  readonly lookup?: (host: string) => Promise<readonly string[]>;
  /** Sends the request, for whoever must go through a proxy: hosts are then resolved there, and only what the address itself says is checked here. */
  readonly fetch?: typeof globalThis.fetch;
  /** As `fetch`, for those addresses only that it gives one for: what is reached straight is checked as ever. */
  readonly via?: (url: URL) => typeof globalThis.fetch | undefined;
  /** Whether answers may be compressed (gzip, br) where the runtime lets us count what comes out; false unless said otherwise. */
  readonly decode?: boolean;
  /** The longest answer, as it is before it was compressed; 256 KiB unless said otherwise. */
  readonly maxBytes?: number;
  /** How long it may take in all, redirects included; 5 s unless said otherwise. */
  readonly timeoutMs?: number;
}

/** As `fetch`, for addresses that cannot be trusted: resolves when the whole answer is there; its `url` is who gave it. */
export type SafeFetch = (url: string | URL, init?: SafeFetchInit) => Promise<Response>;

/** What is sent; wide enough for libraries that take a fetch of their own. */
export interface SafeFetchInit {
  readonly method?: string | undefined;
  /** Those that belong to the connection, such as `host`, are left out. */
  readonly headers?: Headers | { readonly [name: string]: string } | undefined;
  readonly body?: string | URLSearchParams | null | undefined;
  readonly signal?: AbortSignal | null | undefined;
}
