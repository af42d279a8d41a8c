/** Default limits and times of `portolan/net`. */

/** The largest response, after decompression. Documents such as metadata and key sets are far smaller. */
export const defaultMaxBytes: number = 256 * 1024;
/** How long a request may take, with all redirects. */
export const defaultTimeoutMs: number = 5_000;
/** Redirects that are followed one after the other. */
export const defaultMaxRedirects: number = 3;
/** Characters of a path that an error message shows. */
export const maxShownPathChars: number = 200;
/** The longest delay that `setTimeout` accepts; a longer one would fire at once. */
export const longestTimerMs: number = 2 ** 31 - 1;
