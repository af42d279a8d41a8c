import type { Client } from "../client/api.ts";
import type { Link } from "../client/channel-link.ts";
import { connect } from "../client/connect.ts";
import type { Clock } from "../client/deadlines.ts";
import { timedOut } from "../client/failures.ts";
import type { HttpAuth } from "../client/http/options.ts";
import type { Answers, ConnectOptions } from "../client/options.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import type { HttpWay, OpenWay, ServerEntry } from "./entry.ts";
import { waitFor } from "./wait-for.ts";

const defaultConnectMs = 60_000;

/** A running server: how to speak to it, and what is known of its process. */
export interface Connection {
  readonly client: Client;
  readonly pid?: number | undefined;
  readonly stderr?: string | undefined;
}

/** What a connection is opened with. */
export interface Opening extends Omit<ConnectOptions, "auth"> {
  readonly answers: Answers;
  /** Authorizes requests, unless the entry says how. */
  readonly auth: HttpAuth | undefined;
  /** The fetch for an address that is not reached straight. */
  readonly via: ((url: URL) => typeof fetch | undefined) | undefined;
  readonly onStderr: (line: string) => void;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Connects to a server in the way its entry says. */
export async function openConnection({ way, settings }: ServerEntry, opening: Opening): Promise<Connection> {
  const { onStderr, auth: _auth, via: _via, ...options } = opening;
  const { era, connectMs, idleMs } = settings;
  const process = "command" in way ? (await import("../client/stdio.ts")).stdio({ ...way, onStderr }) : undefined;
  const target =
    process ?? ("open" in way ? await inTime(way, connectMs, opening) : await httpLink(way as HttpWay, opening));
  const client = await connect(target, {
    ...options,
    ...(era !== undefined && { era }),
    ...(connectMs !== undefined && { connectMs }),
    ...(idleMs !== undefined && { idleMs }),
  });
  // Read when somebody looks: a process writes more as it lives.
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

/** What the application opens; it is not waited for longer than for any other server, and closed if it comes too late. */
async function inTime(way: OpenWay, connectMs = defaultConnectMs, { signal, clock }: Opening): Promise<Link | Channel> {
  const late = new AbortController();
  const giveUp = () => late.abort(signal.reason);
  const stopTimer = clock.after(connectMs, () => late.abort(timedOut(`open: nothing in ${connectMs} ms`)));
  signal.addEventListener("abort", giveUp, { once: true });
  const opened = (async () => way.open())();
  try {
    return await waitFor(opened, late.signal);
  } catch (reason) {
    opened.then((target) => target.close()).catch(() => {});
    throw reason;
  } finally {
    stopTimer();
    signal.removeEventListener("abort", giveUp);
  }
}

async function httpLink({ url, headers, legacySse, ...way }: HttpWay, opening: Opening): Promise<Link> {
  const { http } = await import("../client/http/index.ts");
  const authorized = way.auth ?? opening.auth;
  const fetch = URL.canParse(url) ? opening.via?.(new URL(url)) : undefined;
  return http(url, {
    ...(headers && { headers }),
    ...(authorized && { auth: authorized }),
    ...(fetch && { fetch }),
    ...(legacySse !== undefined && { legacySse }),
  });
}
