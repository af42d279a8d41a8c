import type { Answers } from "../client/answers.ts";
import type { Client } from "../client/api.ts";
import { connect } from "../client/connect.ts";
import type { HttpAuth } from "../client/http/options.ts";
import type { Link } from "../client/link.ts";
import type { ConnectOptions } from "../client/options.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import type { HttpWay, OpenWay, ServerEntry } from "./entry.ts";

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
  readonly onStderr: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Connects to a server in the way its entry says. */
export async function openConnection({ way, settings }: ServerEntry, opening: Opening): Promise<Connection> {
  const { onStderr, auth, ...options } = opening;
  const { era, connectMs, idleMs } = settings;
  const process = "command" in way ? (await import("../client/stdio.ts")).stdio({ ...way, onStderr }) : undefined;
  const target = process ?? (await targetOf(way as HttpWay | OpenWay, auth));
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

async function targetOf(way: HttpWay | OpenWay, fallback: HttpAuth | undefined): Promise<Link | Channel> {
  if ("open" in way) return way.open();
  const { url, headers, auth = fallback, legacySse } = way;
  const { http } = await import("../client/http/index.ts");
  return http(url, {
    ...(headers && { headers }),
    ...(auth && { auth }),
    ...(legacySse !== undefined && { legacySse }),
  });
}
