import type { Channel } from "portolan";
import type { Answers, Client, Clock, ConnectOptions, HttpAuth, Link } from "portolan/client";
import { connect } from "portolan/client";
import { onAbort, timedOut } from "portolan/internal";
import { waitFor } from "./consent.ts";
import { connectTimeoutMs } from "./limits.ts";
import type { CustomTarget, HttpTarget, ServerEntry } from "./options.ts";

/** A connected server and its process. */
export interface ServerConnection {
  readonly client: Client;
  readonly pid?: number | undefined;
  readonly stderr?: string | undefined;
}

/** Options of `openConnection`. */
export interface OpenOptions extends Omit<ConnectOptions, "auth"> {
  readonly answers: Answers;
  /** Authorization for an entry that has none of its own. */
  readonly auth: HttpAuth | undefined;
  /** Returns the `fetch` for an address that needs a proxy. */
  readonly via: ((url: URL) => typeof fetch | undefined) | undefined;
  readonly onStderr: (line: string) => void;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Connects to the target of an entry. */
export async function openConnection(
  { target, settings }: ServerEntry,
  options: OpenOptions,
): Promise<ServerConnection> {
  const { onStderr, auth: _auth, via: _via, ...connectOptions } = options;
  const { connectMs, idleMs } = settings;
  const { era = settings.era } = options;
  const process =
    "command" in target ? (await import("portolan/client/stdio")).stdio({ ...target, onStderr }) : undefined;
  const link =
    process ??
    ("open" in target ? await openCustom(target, connectMs, options) : await httpLink(target as HttpTarget, options));
  const client = await connect(link, {
    ...connectOptions,
    ...(era !== undefined && { era }),
    ...(connectMs !== undefined && { connectMs }),
    ...(idleMs !== undefined && { idleMs }),
  });
  // Getters, because a process writes more while it runs.
  return {
    client,
    get pid() {
      return process?.pid;
    },
    get stderr() {
      return process?.stderr;
    },
  };
}

/** Calls the application's `open`, with the same time limit as any other server. A late result is closed. */
async function openCustom(
  target: CustomTarget,
  connectMs = connectTimeoutMs,
  { signal, clock }: OpenOptions,
): Promise<Link | Channel> {
  const late = new AbortController();
  const stopTimer = clock.after(connectMs, () =>
    late.abort(timedOut(`open: no connection within ${connectMs} ms; raise connectMs if it starts slowly`)),
  );
  const stopWaiting = onAbort(signal, () => late.abort(signal.reason));
  const opening = (async () => target.open())();
  try {
    return await waitFor(opening, late.signal);
  } catch (reason) {
    opening.then((link) => link.close()).catch(() => {});
    throw reason;
  } finally {
    stopTimer();
    stopWaiting();
  }
}

async function httpLink({ url, headers, legacySse, auth }: HttpTarget, options: OpenOptions): Promise<Link> {
  const { http } = await import("portolan/client/http");
  const authorization = auth ?? options.auth;
  const fetch = URL.canParse(url) ? options.via?.(new URL(url)) : undefined;
  return http(url, {
    ...(headers && { headers }),
    ...(authorization && { auth: authorization }),
    ...(fetch && { fetch }),
    ...(legacySse !== undefined && { legacySse }),
  });
}
