import { RpcError, rpcCodes } from "portolan";
import type { Upstream } from "./upstream.ts";

/** Connections to one server that calls may use at the same time while users are being asked. */
const maxConnections = 4;
/** Calls that wait for a connection. */
const maxWaiting = 100;
/** The time that a server has to end a cancelled call, before its connection is replaced. */
const settleMs = 2_000;

/** The use of a connection by one call. */
export interface Lease {
  readonly upstream: Upstream;
  /** Call it before and after a question to the user. */
  setAsking(isAsking: boolean): void;
  release(): void;
}

interface Connection {
  readonly upstream: Upstream;
  readonly holders: Set<Holder>;
  /** Set while a call waits until the server ends its work on cancelled calls. */
  settling?: NodeJS.Timeout | undefined;
}

interface Holder {
  /** Other calls may use the connection at the same time. */
  readonly isShared: boolean;
  openQuestions: number;
}

interface Waiting {
  readonly isShared: boolean;
  readonly grant: (connection: Connection) => void;
  readonly refuse: (reason: Error) => void;
}

/**
 * Lets calls use the connection to a server one after another where a question of the server does not tell which call
 * it belongs to. Calls whose clients cannot be asked run together. While users are being asked, other calls get a
 * further connection: a person may take minutes to answer.
 *
 * A server may go on with a call that was cancelled, and ask. So its connection is lent to an askable caller again when
 * the server has answered the cancelled call; a server that does not answer in time gets a new connection.
 */
export class CallQueue {
  readonly #connections: Connection[];
  readonly #waiting: Waiting[] = [];

  constructor(upstream: Upstream) {
    this.#connections = [this.#connection(upstream)];
  }

  /** Resolves when the call may be sent. Rejects when the signal aborts, or when too many calls wait. */
  async acquire(isAskable: boolean, signal: AbortSignal): Promise<Lease> {
    const [main] = this.#connections;
    const isShared = !isAskable || !(await main?.upstream.hidesCaller());
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason);
        this.#advance();
      };
      const waiting: Waiting = {
        isShared,
        grant: (connection) => {
          signal.removeEventListener("abort", leave);
          resolve(this.#lease(connection, isShared));
        },
        refuse(reason) {
          signal.removeEventListener("abort", leave);
          reject(reason);
        },
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      if (this.#waiting.length >= maxWaiting) {
        reject(busy(`${maxWaiting} calls wait already`));
        return;
      }
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiting);
      this.#advance();
    });
  }

  /** Closes the connections beside the first one, which belongs to the caller. */
  async close(): Promise<void> {
    for (const { refuse } of this.#waiting.splice(0)) refuse(busy("it is closing"));
    for (const { settling } of this.#connections) clearTimeout(settling);
    await Promise.allSettled(this.#connections.splice(1).map(({ upstream }) => upstream.close()));
  }

  #connection(upstream: Upstream): Connection {
    upstream.onSettled = () => this.#advance();
    return { upstream, holders: new Set() };
  }

  #lease(connection: Connection, isShared: boolean): Lease {
    const holder: Holder = { isShared, openQuestions: 0 };
    connection.holders.add(holder);
    return {
      upstream: connection.upstream,
      setAsking: (isAsking) => {
        holder.openQuestions += isAsking ? 1 : -1;
        this.#advance();
      },
      release: () => {
        connection.holders.delete(holder);
        this.#advance();
        const at = this.#connections.indexOf(connection);
        if (at < 1 || connection.holders.size > 0) return;
        this.#connections.splice(at, 1);
        void connection.upstream.close();
      },
    };
  }

  /** Grants connections to waiting calls, in the order of their arrival. */
  #advance(): void {
    for (;;) {
      const [next] = this.#waiting;
      if (!next) return;
      if (!next.isShared) this.#settle();
      const free = this.#connections.find((connection) => isFree(connection, next.isShared)) ?? this.#open();
      const areAllAsking = this.#connections.every(isAsking);
      if (!free && !areAllAsking) return;
      this.#waiting.shift();
      if (free) next.grant(free);
      else next.refuse(busy("the users of other calls are being asked"));
    }
  }

  /** Replaces unused connections whose server does not end a cancelled call within `settleMs`. */
  #settle(): void {
    for (const connection of this.#connections) {
      const { upstream, holders } = connection;
      if (connection.settling || holders.size > 0 || !upstream.hasUnfinishedCalls) continue;
      connection.settling = setTimeout(() => {
        connection.settling = undefined;
        if (holders.size === 0 && upstream.hasUnfinishedCalls) upstream.restart();
        this.#advance();
      }, settleMs);
    }
  }

  /** Opens a further connection if all the others are held by calls that may take long. */
  #open(): Connection | undefined {
    const [main] = this.#connections;
    if (!main || this.#connections.length >= maxConnections || !this.#connections.every(isHeld)) return undefined;
    const connection = this.#connection(main.upstream.another());
    this.#connections.push(connection);
    return connection;
  }
}

function isFree({ upstream, holders }: Connection, isShared: boolean): boolean {
  if (!isShared) return holders.size === 0 && !upstream.hasUnfinishedCalls;
  return [...holders].every((holder) => holder.isShared);
}

/** Users are being asked, or the server works on a cancelled call and the connection is in use. */
function isHeld(connection: Connection): boolean {
  return isAsking(connection) || (connection.holders.size > 0 && connection.upstream.hasUnfinishedCalls);
}

function isAsking({ holders }: Connection): boolean {
  return [...holders].some(({ isShared, openQuestions }) => !isShared && openQuestions > 0);
}

function busy(why: string): RpcError {
  return new RpcError(rpcCodes.internalError, `The server is busy: ${why}. Try again later.`, {
    data: { reason: "busy" },
  });
}
