import { PortolanError, type PortolanErrorCode } from "portolan";
import type { Client, Clock } from "portolan/client";
import { toError } from "portolan/internal";
import { reasonOf, type ServerState, type ServerStatus } from "./api.ts";
import { waitFor } from "./consent.ts";
import {
  firstRestartPauseMs,
  longestRestartPauseMs,
  maxRestartFailures,
  restartPauseGrowth,
  stableAfterMs,
} from "./limits.ts";
import type { ServerConnection } from "./open-connection.ts";
import { checkBounds, type ServerEntry } from "./options.ts";

/** Options of `Supervisor`. */
export interface SupervisorOptions {
  readonly open: (entry: ServerEntry, signal: AbortSignal) => Promise<ServerConnection>;
  /** Shared by all servers of a host, which limits how many start at once. */
  readonly startSlots: Semaphore;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called after each change of the state. */
  readonly onStateChange: () => void;
  /** Called with each new connection before it is used. */
  readonly onConnect: (client: Client) => Promise<void> | void;
}

/** States in which a server is never started. */
export type BlockedState = Extract<ServerState, "disabled" | "misconfigured" | "untrusted">;

/** Keeps one server connected: starts it when it is needed, and restarts it with growing pauses after a failure. */
export class Supervisor {
  readonly entry: ServerEntry;
  readonly #options: SupervisorOptions;
  state: ServerState = "idle";
  #reason: string | undefined;
  #code: PortolanErrorCode | undefined;
  #connection: ServerConnection | undefined;
  #starting: Promise<Client> | undefined;
  #stopStarting: AbortController | undefined;
  #stopTimer: (() => void) | undefined;
  #failures = 0;
  #restarts = 0;
  #retryAt = 0;
  #readyAt = 0;
  #startMs: number | undefined;
  #wasReady = false;
  /** Standard error output of the last process. */
  #lastStderr: string | undefined;

  constructor(entry: ServerEntry, options: SupervisorOptions) {
    this.entry = entry;
    this.#options = options;
  }

  /** The client while the server is connected. */
  get client(): Client | undefined {
    return this.#connection?.client;
  }

  get status(): ServerStatus {
    const { name, source } = this.entry;
    const { pid, client } = this.#connection ?? {};
    const stderr = this.#connection?.stderr ?? this.#lastStderr;
    return {
      name,
      source,
      state: this.state,
      restarts: this.#restarts,
      ...(this.#reason !== undefined && { reason: this.#reason }),
      ...(this.#code !== undefined && { code: this.#code }),
      ...(client && { profile: client.server }),
      ...(pid !== undefined && { pid }),
      ...(stderr && { stderr }),
      ...(this.#startMs !== undefined && { startMs: this.#startMs }),
      ...(this.state === "down" && { retryInMs: Math.max(0, this.#retryAt - this.#options.clock.now()) }),
    };
  }

  /**
   * Returns the client of the connected server, and starts it if necessary. Rejects at once while it is down or
   * blocked.
   */
  async use(signal?: AbortSignal): Promise<Client> {
    if (this.#connection) return this.#connection.client;
    if (this.#starting) return waitFor(this.#starting, signal);
    const mayStart = this.state === "idle" || this.state === "login";
    if (!mayStart && !(this.state === "down" && this.#options.clock.now() >= this.#retryAt)) throw this.unavailable();
    return waitFor(this.start(), signal);
  }

  /** Starts the server now, without waiting for the next retry. */
  start(): Promise<Client> {
    if (this.#connection) return Promise.resolve(this.#connection.client);
    if (this.#starting) return this.#starting;
    if (this.isBlocked) return Promise.reject(this.unavailable());
    this.#stopTimer?.();
    const stop = new AbortController();
    const starting = this.#options.startSlots.run(() => this.#open(stop.signal), stop.signal);
    this.#stopStarting = stop;
    this.#starting = starting;
    // The state shows the failure; callers of `use` receive it, too.
    starting.catch(() => {});
    this.#setState("starting");
    return starting;
  }

  /** Stops the server. It starts again when it is needed, unless it is blocked. */
  async stop(next: BlockedState | "idle" | "closed" = "idle", reason?: string): Promise<void> {
    if (this.state === "closed" || (next === "idle" && this.isBlocked)) return;
    this.#stopTimer?.();
    const connection = this.#connection;
    const starting = this.#starting;
    this.#connection = undefined;
    this.#starting = undefined;
    this.#failures = 0;
    this.#wasReady = false;
    this.#setState(next, reason);
    this.#stopStarting?.abort(new PortolanError("cancelled", `${this.entry.name}: stopped while it was starting`));
    await connection?.client.close();
    await starting?.catch(() => {});
  }

  /** Shows whether a connected server answers. Its connection is kept. */
  showResponsive(isResponsive: boolean, reason?: string): void {
    if (!this.#connection || this.state !== (isResponsive ? "unresponsive" : "ready")) return;
    this.#setState(isResponsive ? "ready" : "unresponsive", reason);
  }

  /** Allows a blocked server to start. */
  unblock(): void {
    if (this.isBlocked && this.state !== "closed") this.#setState("idle");
  }

  /** True while the server is never started. */
  get isBlocked(): boolean {
    return ["disabled", "misconfigured", "untrusted", "closed"].includes(this.state);
  }

  async #open(signal: AbortSignal): Promise<Client> {
    const { clock, onConnect } = this.#options;
    const startedAt = clock.now();
    try {
      if (signal.aborted) throw toError(signal.reason);
      const connection = await this.#options.open(this.entry, signal);
      const { client } = connection;
      try {
        if (signal.aborted) throw toError(signal.reason);
        // Before the state is "ready", so that the lists are read before the first call.
        await onConnect(client);
        if (signal.aborted) throw toError(signal.reason);
      } catch (reason) {
        await client.close();
        throw reason;
      }
      this.#connection = connection;
      this.#starting = undefined;
      this.#startMs = clock.now() - startedAt;
      this.#readyAt = clock.now();
      if (this.#wasReady) this.#restarts += 1;
      this.#wasReady = true;
      this.#setState("ready");
      client.closed.then((reason) => this.#onLost(connection, reason));
      return client;
    } catch (thrown) {
      const reason = toError(thrown);
      if (!signal.aborted) this.#onFailure(reason);
      throw reason;
    }
  }

  #onLost(connection: ServerConnection, reason: Error | undefined): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#lastStderr = connection.stderr;
    if (this.#options.clock.now() - this.#readyAt >= stableAfterMs) this.#failures = 0;
    this.#onFailure(reason ?? new PortolanError("connection-closed", "the connection ended"));
  }

  #onFailure(reason: Error): void {
    this.#starting = undefined;
    const code = reason instanceof PortolanError ? reason.code : undefined;
    if (code === "login-required" || code === "unauthorized") {
      this.#setState("login", reason.message, code);
      return;
    }
    const { clock, random } = this.#options;
    const delayMs = Math.min(firstRestartPauseMs * restartPauseGrowth ** this.#failures, longestRestartPauseMs);
    // Jitter, so that servers that failed together do not restart together.
    const jitteredMs = Math.round(delayMs * (0.8 + 0.4 * random()));
    this.#failures += 1;
    this.#retryAt = clock.now() + jitteredMs;
    this.#setState("down", reason.message, code);
    // A server that never ran will hardly run by itself; it starts when a call needs it.
    if (!this.#wasReady || this.#failures > maxRestartFailures) return;
    this.#stopTimer = clock.after(jitteredMs, () => {
      if (this.state === "down") this.start();
    });
  }

  #setState(state: ServerState, reason?: string, code?: PortolanErrorCode): void {
    this.state = state;
    this.#reason = reason;
    this.#code = code;
    this.#options.onStateChange();
  }

  /** Returns the reason why the server cannot be used now. */
  unavailable(): PortolanError {
    const { name } = this.entry;
    const { retryInMs, ...status } = this.status;
    const states: { [state in ServerState]?: string } = {
      disabled: "is disabled",
      misconfigured: "cannot be started because its configuration is invalid",
      untrusted: "is not trusted yet, so it is not started",
      down: `is down; next attempt in ${Math.ceil((retryInMs ?? 0) / 1_000)} s`,
      closed: "was removed, or the host is closed",
    };
    const reason = reasonOf(status);
    const why = reason === undefined ? "" : `: ${reason}`;
    return new PortolanError("server-unavailable", `${name} ${states[this.state] ?? this.state}${why}`);
  }
}

/** Lets a fixed number of tasks run at once; the others wait in a queue. */
export class Semaphore {
  #free: number;
  #queue: (() => void)[] = [];

  constructor(permits: number) {
    checkBounds("", { startsAtOnce: permits }, 1);
    this.#free = permits;
  }

  /** Runs a task when there is a permit. An aborted one leaves the queue. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#acquire(signal);
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      // The permit passes directly to the next in the queue, so that no newcomer takes it.
      if (next) next();
      else this.#free += 1;
    }
  }

  async #acquire(signal: AbortSignal | undefined): Promise<void> {
    let grant: () => void = () => {};
    const permit = new Promise<void>((resolve) => {
      grant = resolve;
    });
    this.#queue.push(grant);
    try {
      await waitFor(permit, signal);
    } catch (reason) {
      this.#queue = this.#queue.filter((other) => other !== grant);
      throw reason;
    }
  }
}
