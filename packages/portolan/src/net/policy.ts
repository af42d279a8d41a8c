/** Which URLs may be fetched when another party has named them, and within which limits. */
export interface FetchPolicy {
  /**
   * Hosts, such as `localhost` or `idp.corp`, that may be reached although their IP addresses are not public; over http,
   * too, if they are loopback. Default: none.
   */
  readonly privateHosts?: readonly string[];
  /**
   * A host that the user has named. If it is in a private network, other hosts of private networks may be reached, too;
   * loopback and link-local addresses may not. Needs a resolver.
   */
  readonly neighbourOf?: string;
  /** Which redirects of a GET are followed; each target is checked. Default: `"same-origin"`. */
  readonly redirects?: "never" | "same-origin" | "anywhere";
  /** Redirects that are followed one after the other. Default: 3. */
  readonly maxRedirects?: number;
  /** Decides last about a URL that is otherwise allowed; `addresses` are the IP addresses of its host. */
  readonly allow?: (url: URL, addresses: readonly string[]) => boolean | Promise<boolean>;
  /** Resolves a host to its IP addresses. Default: the system's resolver. */
  readonly lookup?: (host: string) => Promise<readonly string[]>;
  /** Sends all requests, for example through a proxy. The proxy resolves hosts, so only the URL itself is checked. */
  readonly fetch?: typeof globalThis.fetch;
  /** Returns a `fetch` for URLs that need one, such as a proxy. All other URLs are resolved and checked as usual. */
  readonly via?: (url: URL) => typeof globalThis.fetch | undefined;
  /** Accepts compressed responses (gzip, br) where the runtime lets us count the decoded bytes. Default: false. */
  readonly decode?: boolean;
  /** The largest response, after decompression. Default: 256 KiB. */
  readonly maxBytes?: number;
  /** How long a request may take, with all redirects. Default: 5 seconds. */
  readonly timeoutMs?: number;
}

/** A `fetch` for URLs that cannot be trusted. Resolves when the whole response has been read; `url` is the last one. */
export type SafeFetch = (url: string | URL, init?: SafeFetchInit) => Promise<Response>;

/** The request to send. Its types fit libraries that accept a custom fetch. */
export interface SafeFetchInit {
  readonly method?: string | undefined;
  /** Headers of the connection, such as `host`, are left out. */
  readonly headers?: Headers | { readonly [name: string]: string } | undefined;
  readonly body?: string | Uint8Array<ArrayBuffer> | URLSearchParams | null | undefined;
  readonly signal?: AbortSignal | null | undefined;
}
