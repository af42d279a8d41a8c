import { PortolanError } from "../../../errors.ts";
import type { RequestId } from "../../../jsonrpc/message.ts";
import type { Storage } from "../../../storage/storage.ts";
import type { EndpointState } from "../endpoint.ts";
import { keepSubscribed, retry } from "../processes/keep-subscribed.ts";
import type { LiveSession, LiveSessions } from "./live-session.ts";
import type { Sessions, StreamClaims } from "./sessions.ts";

const cancelTopic = "mcp/cancel";
const endTopic = "mcp/session-end";
const changeTopic = "mcp/session-change";
const takeTopic = "mcp/session-stream";

export const sessionEnded = "The session has ended";

/** A changed setting of a session: a subscription, or the log level if there is no URI. */
export interface SettingsChange {
  readonly uri?: string;
  readonly isSubscribed?: boolean;
}

/** The sessions of this process, as far as news of other processes concern them. */
export interface OwnSessions {
  readonly sessions: Sessions;
  readonly live: LiveSessions;
  /** Ends everything that runs for a session in this process. */
  end(id: string, why: string): void;
  readonly claims: StreamClaims;
}

/** Tells the processes that share the storage what happens to sessions here, and applies what they tell. */
export class OtherProcesses {
  readonly #state: EndpointState;
  readonly #storage: Storage;
  readonly #own: OwnSessions;
  /** Distinguishes this process from the others. */
  readonly #processId: string = crypto.randomUUID();
  readonly #stops: (() => Promise<void>)[];
  #isRereading = false;
  #stopRereading: (() => void) | undefined;

  constructor(state: EndpointState, storage: Storage, own: OwnSessions) {
    this.#state = state;
    this.#storage = storage;
    this.#own = own;
    this.#stops = [
      this.#hear(cancelTopic, (value) => this.#cancelHere(value)),
      this.#hear(endTopic, (id) => own.end(id, sessionEnded)),
      this.#hear(takeTopic, (value) => state.background(this.#taken(value))),
      this.#hear(changeTopic, (value) => state.background(this.#changed(value))),
    ];
  }

  /** Cancels a request in this process and in all others. */
  async cancel(session: string, requestId: RequestId, reason: string | undefined): Promise<void> {
    const cancel = JSON.stringify([session, requestId, reason]);
    this.#cancelHere(cancel);
    await this.#storage.bus.publish(cancelTopic, cancel);
  }

  async tellEnded(id: string): Promise<void> {
    await this.#storage.bus.publish(endTopic, id);
  }

  /** Tells that this process has the standalone stream of the session now. */
  async tellTaken(id: string): Promise<void> {
    await this.#storage.bus.publish(takeTopic, JSON.stringify([id, this.#processId]));
  }

  async tellChanged(id: string, change: SettingsChange): Promise<void> {
    await this.#storage.bus.publish(changeTopic, JSON.stringify([this.#processId, id, change]));
  }

  stop(): void {
    // Each on its own: a storage that fails must not keep the server from closing.
    for (const stop of this.#stops) this.#state.background(stop());
    this.#stopRereading?.();
  }

  #hear(topic: string, receive: (value: string) => void): () => Promise<void> {
    // Without the bus this process serves its own sessions; only news of other processes are missing.
    const failed = (cause: unknown) => void this.#state.runtime.report(cause);
    return keepSubscribed(this.#storage.bus, topic, { receive, failed, lost: this.#lost });
  }

  #cancelHere(value: string): void {
    this.#state.endTurn();
    const [session, requestId, reason] = JSON.parse(value) as [string, RequestId, unknown];
    const why = typeof reason === "string" ? reason : "The client cancelled the request";
    this.#own.live.get(session)?.cancel(requestId, new PortolanError("cancelled", why));
  }

  /** Applies a setting that another process has changed to the standalone stream, if this process has the stream. */
  async #changed(value: string): Promise<void> {
    const [by, id, { uri, isSubscribed }] = JSON.parse(value) as [string, string, SettingsChange];
    if (by === this.#processId) return;
    const { sessions, live } = this.#own;
    const standalone = live.get(id)?.standalone;
    if (uri !== undefined) {
      await sessions.changedElsewhere(id, uri, isSubscribed === true);
      if (isSubscribed) await standalone?.subscribe(uri);
      else standalone?.session.unsubscribe(uri);
      return;
    }
    sessions.forgetCached(id);
    const known = standalone && (await sessions.find(id));
    if (known?.peer.logLevel !== undefined) standalone?.session.setLogLevel(known.peer.logLevel);
  }

  /** Ends the standalone stream here if another process has a newer connection. The news may be older than ours. */
  async #taken(value: string): Promise<void> {
    const [id, by] = JSON.parse(value) as [string, string];
    const standalone = by === this.#processId ? undefined : this.#own.live.get(id)?.standalone;
    if (standalone && !(await this.#own.claims.isLatest(id).catch(() => false))) standalone.end();
  }

  // All topics lose their messages at once: the sessions are read again once for all of them.
  readonly #lost = (): void => {
    if (this.#isRereading) return;
    this.#isRereading = true;
    this.#stopRereading?.();
    this.#stopRereading = retry(async () => {
      // Messages that are lost from now on need another reading.
      await Promise.resolve();
      this.#isRereading = false;
      await this.#readAllAgain().catch((cause) => {
        this.#state.runtime.report(cause);
        throw cause;
      });
    });
  };

  /** Reads all sessions again, because others may have changed or ended them. */
  async #readAllAgain(): Promise<void> {
    const { sessions, live } = this.#own;
    sessions.forgetAllCached();
    let failure: unknown;
    for (const each of live.values()) {
      // One that cannot be read must not keep the others from being read.
      await this.readAgain(each).catch((cause) => {
        failure ??= cause;
      });
    }
    if (failure !== undefined) throw failure;
  }

  /** Applies what others have changed of a session, and ends it here if they have ended it. */
  async readAgain({ id, standalone }: LiveSession): Promise<void> {
    const { sessions, claims, end } = this.#own;
    const known = await sessions.find(id);
    if (!known) end(id, sessionEnded);
    else if (standalone) {
      standalone.applySettings(known.peer, await sessions.subscriptions(id));
      // Messages would be sent twice otherwise.
      if (!(await claims.renew(known, standalone.proof))) standalone.end();
    }
  }
}
