import { PortolanError } from "portolan";
import type { Answers, Client, Clock, EraPolicy, ObservedRequest, RequestObserver, Tap } from "portolan/client";
import { checkOptions, nameOf, toError } from "portolan/internal";
import type { ActivityLog } from "./activity/index.ts";
import type { HostOptions } from "./api.ts";
import type { HostedServer } from "./hosted-server.ts";
import { maxOpenedConnections } from "./limits.ts";

// Loaded late: most hosts use each server by one connection only.

/** Options of `host.open`. */
export interface OpenConnectionOptions {
  /** Default: that of the server's entry. */
  readonly era?: EraPolicy;
  /** Answer the server's questions instead of the host's own answers. `{}` answers none, and declares so. */
  readonly answers?: Answers;
  /** Hears everything that passes on this connection, beside the tap of the host. */
  readonly tap?: Tap;
  /** Gives up opening; the connection itself is closed by `close`. */
  readonly signal?: AbortSignal;
}

/** A connection to a server of the host that is not the host's own. The user controls it: its calls are logged, not asked about. */
export interface OpenedConnection extends AsyncDisposable {
  readonly id: string;
  readonly server: string;
  readonly client: Client;
  /** The process of a server that was started for it. */
  readonly pid?: number | undefined;
  close(): Promise<void>;
}

/** Parts of the host that opened connections use. */
export interface OpenedConnectionsOptions {
  readonly activity: ActivityLog;
  readonly clock: Clock;
  readonly tap: HostOptions["tap"];
  readonly observer: RequestObserver | undefined;
  /** The host's own answers to the questions of a server. */
  readonly answersFor: (server: HostedServer) => Answers;
}

/** The connections that a user has opened beside those of the host. They end with their server's trust, and with the host. */
export class OpenedConnections {
  readonly #options: OpenedConnectionsOptions;
  /** The open ones; undefined for a connection that is being opened. */
  readonly #all = new Map<string, { readonly server: HostedServer; readonly stop: AbortController; client?: Client }>();
  /** Connections that are being opened or closed: their processes may still run. */
  readonly #changing = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: OpenedConnectionsOptions) {
    this.#options = options;
  }

  open(server: HostedServer, options: OpenConnectionOptions): Promise<OpenedConnection> {
    return this.#change(this.#open(server, options));
  }

  async #open(server: HostedServer, options: OpenConnectionOptions): Promise<OpenedConnection> {
    checkOptions(options, { era: 1, answers: 1, tap: 1, signal: 1 }, "open");
    const { era, answers = this.#options.answersFor(server), tap, signal } = options;
    if (tap !== undefined && typeof tap !== "function") {
      throw new PortolanError("invalid-argument", `open: tap: expected a function, got ${nameOf(tap)}`);
    }
    if (this.#isClosed) throw new PortolanError("cancelled", "The host is closed");
    if (server.supervisor.isBlocked) throw server.supervisor.unavailable();
    if (this.#all.size >= maxOpenedConnections) {
      const why = `open: ${maxOpenedConnections} connections are open already; close one first`;
      throw new PortolanError("limit-reached", why);
    }
    const id = crypto.randomUUID();
    const opened: { server: HostedServer; stop: AbortController; client?: Client } = {
      server,
      stop: new AbortController(),
    };
    // Counted from now on, so that many at once do not pass the limit.
    this.#all.set(id, opened);
    const hostTap = this.#options.tap;
    try {
      const connection = await server.connectAgain({
        era,
        answers,
        observer: this.#observe(server, id),
        signal: signal ? AbortSignal.any([signal, opened.stop.signal]) : opened.stop.signal,
        ...((tap || hostTap) && {
          tap: (event) => {
            try {
              hostTap?.(server.name, id, event);
            } finally {
              tap?.(event);
            }
          },
        }),
      });
      const { client } = connection;
      opened.client = client;
      if (opened.stop.signal.aborted) {
        await client.close();
        throw toError(opened.stop.signal.reason);
      }
      const { version } = client.server;
      this.#options.activity.record({ kind: "server", server: server.name, connection: id, state: "opened", version });
      const ended = client.closed.then((reason) => this.#ended(id, reason));
      const close = async () => {
        await this.#change(client.close());
        await ended;
      };
      return {
        id,
        server: server.name,
        client,
        get pid() {
          return connection.pid;
        },
        close,
        [Symbol.asyncDispose]: close,
      };
    } catch (reason) {
      this.#all.delete(id);
      throw reason;
    }
  }

  /** Ends the connections of a server that must not be used any more. */
  async endBlocked(server: HostedServer): Promise<void> {
    if (!server.supervisor.isBlocked) return;
    const why = `${server.name}: it must not be used any more`;
    await this.#end((opened) => opened.server === server, why);
  }

  rootsChanged(): void {
    for (const { client } of this.#all.values()) client?.rootsChanged();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end(() => true, "The host is closed");
    await Promise.allSettled(this.#changing);
  }

  async #end(fits: (opened: { readonly server: HostedServer }) => boolean, why: string): Promise<void> {
    const ending = [...this.#all.values()].filter(fits);
    for (const { stop } of ending) stop.abort(new PortolanError("cancelled", why));
    await Promise.all(ending.map(({ client }) => client && this.#change(client.close())));
  }

  /** Has `close` wait for work that is under way. */
  #change<T>(work: Promise<T>): Promise<T> {
    const changing = work.finally(() => this.#changing.delete(changing));
    this.#changing.add(changing);
    return changing;
  }

  #ended(id: string, reason: Error | undefined): void {
    const opened = this.#all.get(id);
    this.#all.delete(id);
    const why = reason === undefined ? {} : { reason: reason.message };
    this.#options.activity.record({
      ...{ kind: "server", server: opened?.server.name ?? "", connection: id, state: "closed", ...why },
    });
  }

  /** Logs what is done by hand, and tells the observer of the host. */
  #observe(server: HostedServer, connection: string): RequestObserver {
    const { observer, activity, clock } = this.#options;
    return {
      begin: (request) => {
        const inner = observer?.begin(request);
        const about = loggedRequest(request);
        if (!about) return inner;
        const startedAt = clock.now();
        const id = crypto.randomUUID();
        return {
          ...(inner?.meta && { meta: inner.meta }),
          ...(inner?.run && { run: (work: () => void) => inner.run?.(work) }),
          end: (outcome) => {
            const ended =
              "result" in outcome ? { result: outcome.result } : { how: "failed", message: outcome.error.message };
            const ms = clock.now() - startedAt;
            activity.record({ ...about, id, server: server.name, by: "user", connection, ms, ...ended });
            inner?.end(outcome);
          },
        };
      },
      ...(observer?.beginQuestion && { beginQuestion: (question) => observer.beginQuestion?.(question) }),
      ...(observer?.beginSession && { beginSession: (session) => observer.beginSession?.(session) }),
    };
  }
}

/** Returns the beginning of the log's entry for a request that runs something of the server. */
function loggedRequest({ method, params }: ObservedRequest) {
  const { name, uri, arguments: args } = params;
  if (method === "tools/call") return { kind: "call", name: String(name), args } as const;
  if (method === "prompts/get") return { kind: "prompt", name: String(name), args } as const;
  if (method === "resources/read") return { kind: "resource", name: String(uri) } as const;
  return undefined;
}
