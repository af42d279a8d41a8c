import { serialize } from "../../../jsonrpc/message.ts";
import { type Principal, ServedExchange } from "../../call/exchange.ts";
import { Session } from "../../channel/session.ts";
import { watchOf } from "../../subscribe/listen.ts";
import type { Runtime } from "../../subscribe/runtime.ts";
import { eventOf, opening } from "../event-stream.ts";
import type { OpenStream } from "../streams.ts";
import { type EventLog, type Place, standaloneWith } from "./event-log.ts";
import type { KnownSession } from "./sessions.ts";

/** How long a client that lost its connection may stay away without missing anything. */
const patienceMs = 60_000;

/** What a session hears that belongs to no request: changes, and logs outside requests. It outlives a lost connection. */
export class StandaloneStream {
  readonly session: Session;
  /** What its events say to the one who reads them, and to nobody else. */
  readonly proof: string;
  readonly #runtime: Runtime;
  readonly #principal: Principal;
  readonly #id: string;
  readonly #log: EventLog;
  readonly #ended: () => void;
  readonly #stopListening: () => void;
  #stream: OpenStream | undefined;
  #recorded: Promise<void> = Promise.resolve();
  #patience: ReturnType<typeof setTimeout> | undefined;

  constructor(
    runtime: Runtime,
    known: KnownSession,
    principal: Principal,
    log: EventLog,
    proof: string | undefined,
    ended: () => void,
  ) {
    this.proof = proof ?? crypto.randomUUID();
    this.#runtime = runtime;
    this.#principal = principal;
    this.#id = known.id;
    this.#log = log;
    this.#ended = ended;
    this.session = new Session(known.peer, principal.key, (method, params) => {
      this.#say(serialize({ jsonrpc: "2.0", method, params }));
    });
    this.#stopListening = runtime.hub.listen(this.session);
    this.follow(known);
  }

  /** Whether there is a client, and it reads. */
  get isRead(): boolean {
    return this.#stream?.isRead === true;
  }

  /** Goes on over this connection, from a place if there is one; the connection before it is ended. */
  attach(stream: OpenStream, place: Place | undefined): void {
    clearTimeout(this.#patience);
    this.#stream?.end();
    this.#stream = undefined;
    this.#inOrder(async () => {
      // Who comes back has a place already, and would begin anew with that of an opening.
      if (!place && this.session.peer.revision.http.primes) stream.write(opening(standaloneWith(this.proof)));
      const missed = place && (await this.#log.read(this.#id, place));
      for (const { id, text } of missed ?? []) await stream.replay(this.#toEvent(id, text));
      this.#stream = stream;
    });
  }

  /** The connection is lost; what is said now is kept for a while. */
  detach(stream: OpenStream): void {
    this.#inOrder(async () => {
      if (this.#stream !== stream) return;
      this.#stream = undefined;
      this.#patience = setTimeout(() => this.end(), patienceMs);
      if (typeof this.#patience === "object") this.#patience.unref?.();
    });
  }

  /** Follows what the record of its session says, and nothing else. */
  follow({ peer, uris }: KnownSession): void {
    if (peer.logLevel !== undefined) this.session.setLogLevel(peer.logLevel);
    this.session.keepOnly(uris);
    for (const uri of uris) void this.#subscribe(uri);
  }

  /** Ends the stream and lets go of what was begun for it. */
  end(): void {
    clearTimeout(this.#patience);
    this.#stopListening();
    this.session.end();
    this.#stream?.end();
    this.#stream = undefined;
    this.#ended();
  }

  #say(text: string): void {
    this.#inOrder(async () => {
      const id = await this.#log.append(this.#id, text);
      this.#stream?.write(this.#toEvent(id, text));
    });
  }

  #toEvent(id: string, text: string): string {
    return eventOf(text, `${standaloneWith(this.proof)}_${id}`);
  }

  #inOrder(step: () => Promise<void>): void {
    this.#recorded = this.#recorded.then(step).catch((cause) => {
      this.#runtime.report(cause);
    });
  }

  async #subscribe(uri: string): Promise<void> {
    const request = { jsonrpc: "2.0", id: 0, method: "resources/subscribe", params: { uri } } as const;
    const exchange = new ServedExchange(request, this.session.peer, this.#principal, { notify() {} });
    try {
      const begin = watchOf(this.#runtime, exchange, uri);
      await this.session.subscribe(uri, () => begin && this.#runtime.hub.hold(uri, begin));
    } catch (cause) {
      this.#runtime.report(cause, request.method);
    }
  }
}
