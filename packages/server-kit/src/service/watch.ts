import type { CallerContext } from "./tokens.ts";

/** A thing to watch at a service that does not report changes by itself. */
export interface WatchedVersion {
  /** The caller for whom the requests are made. */
  readonly principal: CallerContext["principal"];
  /** Time between two looks. */
  readonly everyMs: number;
  /** Returns what identifies the present version, such as an ETag; `known` is that of the last look. */
  readonly versionOf: (context: CallerContext, known: string | undefined) => Promise<string | undefined>;
  /** Called when a look finds another version. */
  readonly changed: () => void;
}

/** Looks at once, and then now and then. Rejects if the first look fails. Returns the function that stops. */
export async function watchVersion({ principal, everyMs, versionOf, changed }: WatchedVersion): Promise<() => void> {
  const ended = new AbortController();
  const context: CallerContext = { principal, signal: ended.signal, status: () => {} };
  let known = await versionOf(context, undefined);
  let timer: NodeJS.Timeout;
  const look = async () => {
    const found = await versionOf(context, known);
    if (found === known || ended.signal.aborted) return;
    known = found;
    changed();
  };
  const lookLater = () => {
    timer = setTimeout(() => {
      // A look that fails says nothing about a change; the next one may tell.
      look()
        .catch(() => {})
        .then(() => ended.signal.aborted || lookLater());
    }, everyMs);
    timer.unref();
  };
  lookLater();
  return () => {
    ended.abort();
    clearTimeout(timer);
  };
}
