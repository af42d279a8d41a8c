import { PortolanError } from "../../../errors.ts";
import type { RequestId, RpcResponse } from "../../../jsonrpc/message.ts";
import type { Storage } from "../../../storage/storage.ts";
import type { EndpointState } from "../endpoint.ts";
import { handoverMs } from "../limits.ts";
import { keepSubscribed, lossTopic, retry } from "../processes/keep-subscribed.ts";
import { answerTopic, type LiveSession, type LiveSessions } from "./live-session.ts";
import type { Sessions } from "./sessions.ts";
import type { StreamState } from "./standalone-stream.ts";
import type { StreamClaims } from "./stream-claims.ts";

const cancelTopic = "mcp/cancel";
const endTopic = "mcp/session-end";
const changeTopic = "mcp/session-change";
const takeTopic = "mcp/session-stream";
/** Followed by the id of the process that waits for the reply. */
const replyTopic = "mcp/process-reply/";

export const sessionEnded = "The session has ended";

/** A changed setting of a session: a subscription, or the log level if there is no URI. */
export interface SettingsChange {
  readonly uri?: string;
  readonly isSubscribed?: boolean;
  /** True if the stream may have missed changes of the URI unless it was subscribed to already. */
  readonly isRestored?: boolean;
  /** True if the subscription was confirmed before the process with the stream had answered. */
  readonly isLate?: boolean;
}

/** The process that changed a setting, the session, the change, the process that has its stream, and the id for its reply. */
type ChangeMessage = [by: string, id: string, change: SettingsChange, owner: string | undefined, question: string];

/** The parts of this process that change when another process has changed a session. */
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
  readonly #processId: string;
  /** The replies that this process waits for. */
  readonly #awaited = new Map<string, (reply: StreamState | undefined) => void>();
  readonly #stops: (() => Promise<void>)[];
  #isRereading = false;
  /** True from a loss until all sessions are read again: news that arrive meanwhile may be older than the loss. */
  #isBehind = false;
  #stopRereading: (() => void) | undefined;

  constructor(state: EndpointState, storage: Storage, own: OwnSessions) {
    this.#state = state;
    this.#storage = storage;
    this.#own = own;
    this.#processId = own.claims.owner;
    this.#stops = [
      this.#hear(cancelTopic, (value) => this.#cancelHere(value)),
      this.#hear(endTopic, (id) => own.end(id, sessionEnded)),
      this.#hear(takeTopic, (value) => state.background(this.#taken(value))),
      this.#hear(changeTopic, (value) => state.background(this.#changed(value))),
      this.#hear(answerTopic, (value) => {
        const [session, response] = JSON.parse(value) as [string, RpcResponse];
        own.live.get(session)?.settleHere(response);
      }),
      this.#hear(lossTopic, () => this.#lost()),
      this.#hear(replyTopic + this.#processId, (value) => {
        const [question, reply] = JSON.parse(value) as [string, StreamState | undefined];
        this.#awaited.get(question)?.(reply);
      }),
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

  /**
   * Tells that this process has the standalone stream of the session now. Resolves to what the process before knows of the
   * stream, after it has stored all it heard; undefined if there is none, or it does not answer.
   */
  async takeStream(id: string, before: string | undefined): Promise<StreamState | undefined> {
    const reply = await this.#ask(before, (question) => [takeTopic, [id, this.#processId, before, question]]);
    return reply === "late" ? undefined : reply;
  }

  /** Tells a changed setting. Resolves when the process that has the stream has applied it, or does not answer. */
  async tellChanged(id: string, change: SettingsChange): Promise<void> {
    const owner = await this.#own.claims.ownerOf(id);
    const tell = (to: string | undefined, more: SettingsChange) =>
      this.#ask(to, (question) => [changeTopic, [this.#processId, id, { ...change, ...more }, to, question]]);
    const reply = await tell(owner, {});
    // It is confirmed now. A process that is slow applies it later, and misses what changes in between.
    if (reply === "late" && change.isSubscribed) await tell(undefined, { isLate: true });
  }

  /** Publishes a message, and waits for the reply of one process if another one is named: "late" if it does not come. */
  async #ask(
    owner: string | undefined,
    toMessage: (question: string) => [topic: string, value: unknown],
  ): Promise<StreamState | "late" | undefined> {
    const question = crypto.randomUUID();
    const [topic, value] = toMessage(question);
    if (owner === undefined || owner === this.#processId) {
      await this.#storage.bus.publish(topic, JSON.stringify(value));
      return undefined;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const reply = new Promise<StreamState | "late" | undefined>((resolve) => {
      timer = setTimeout(() => resolve("late"), handoverMs);
      this.#awaited.set(question, resolve);
    });
    try {
      await this.#storage.bus.publish(topic, JSON.stringify(value));
      return await reply;
    } finally {
      clearTimeout(timer);
      this.#awaited.delete(question);
    }
  }

  async #reply(to: string, question: string, reply?: StreamState): Promise<void> {
    await this.#storage.bus.publish(replyTopic + to, JSON.stringify([question, reply]));
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
    const [by, id, change, owner, question] = JSON.parse(value) as ChangeMessage;
    if (by === this.#processId) return;
    const { sessions, live } = this.#own;
    const standalone = live.get(id)?.standalone;
    const { uri, isSubscribed, isRestored, isLate } = change;
    if (uri !== undefined) {
      // At once: the next message may be a publication.
      const mayBeOld = isRestored || (isSubscribed && this.#isBehind);
      const hasMissed = isLate || (mayBeOld && !standalone?.session.subscriptions?.has(uri));
      const applied = isSubscribed ? standalone?.subscribe(uri) : standalone?.session.unsubscribe(uri);
      if (hasMissed) standalone?.session.deliver("resources/updated", { uri });
      await Promise.all([sessions.subscriptions.changedElsewhere(id, uri, isSubscribed === true), applied]);
    } else {
      sessions.forgetCached(id);
      const known = standalone && (await sessions.find(id));
      if (known?.peer.logLevel !== undefined) standalone?.session.setLogLevel(known.peer.logLevel);
    }
    if (owner === this.#processId) await this.#reply(by, question);
  }

  /**
   * Hands the standalone stream over if another process has a newer connection. The news may be older than the connection
   * of this process.
   */
  async #taken(value: string): Promise<void> {
    const [id, by, owner, question] = JSON.parse(value) as [string, string, string | undefined, string];
    if (by === this.#processId) return;
    const standalone = this.#own.live.get(id)?.standalone;
    const isLatest = standalone && (await this.#own.claims.isLatest(id).catch(() => false));
    const state = isLatest ? { isOutdated: true } : await standalone?.handOver();
    if (owner === this.#processId) await this.#reply(by, question, state);
  }

  // All topics lose their messages at once: the sessions are read again once for all of them.
  readonly #lost = (): void => {
    this.#isBehind = true;
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
    for (const { id, uri } of await sessions.subscriptions.restore()) {
      this.#state.background(this.tellChanged(id, { uri, isSubscribed: true, isRestored: true }));
    }
    let failure: unknown;
    for (const each of live.values()) {
      // One that cannot be read must not keep the others from being read.
      await this.readAgain(each).catch((cause) => {
        failure ??= cause;
      });
    }
    if (failure !== undefined) throw failure;
    this.#isBehind = this.#isRereading;
    // Last: there may be many.
    await live.passAnswersAgain();
  }

  /** Applies what others have changed of a session, and ends it here if they have ended it. */
  async readAgain({ id, standalone }: LiveSession): Promise<void> {
    const { sessions, claims, end } = this.#own;
    const before = [...(standalone?.session.subscriptions?.keys() ?? [])];
    const known = await sessions.find(id);
    if (!known) end(id, sessionEnded);
    else if (standalone) {
      const uris = await sessions.subscriptions.of(id);
      const missed = [...uris].filter((uri) => !standalone.session.subscriptions?.has(uri));
      standalone.applySettings(known.peer, uris, before);
      // This process was not told of them, and what has changed since their confirmation was not heard.
      for (const uri of missed) standalone.session.deliver("resources/updated", { uri });
      // A claim from now on would outlive the session.
      if (standalone.session.isEnded) return;
      const proof = standalone.isConnected ? standalone.proof : "";
      if (await claims.renew(known, proof)) return;
      // The storage was away when the client opened its stream here, and another process kept it without a client.
      const keeper = proof === "" ? undefined : await claims.takeUnread(known, proof);
      // Messages would be sent twice otherwise.
      if (keeper === undefined) standalone.end();
      else this.#state.background(this.takeStream(id, keeper).then(() => {}));
    }
  }
}
