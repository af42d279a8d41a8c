import { serialize } from "../../jsonrpc/serialize.ts";
import { type Principal, ServedExchange } from "../exchange.ts";
import { watchOf } from "../listen.ts";
import type { Runtime } from "../runtime.ts";
import { Session } from "../session.ts";
import type { EventLog } from "./event-log.ts";
import { eventOf } from "./post-reply.ts";
import type { KnownSession } from "./sessions.ts";
import type { OpenStream } from "./streams.ts";

/** The name of a session's standalone stream in the ids of its events. */
export const standaloneName = "get";

/** The stream of a session for what belongs to no request: changes, and logs outside requests. */
export class StandaloneStream {
  readonly session: Session;
  readonly #stream: OpenStream;
  readonly #runtime: Runtime;
  readonly #principal: Principal;
  readonly #stopListening: () => void;
  #recorded: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, known: KnownSession, principal: Principal, stream: OpenStream, log: EventLog) {
    this.#stream = stream;
    this.session = new Session(known.peer, principal.key, (method, params) => {
      const text = serialize({ jsonrpc: "2.0", method, params });
      this.#recorded = this.#recorded.then(async () => {
        const id = await log.append(known.id, standaloneName, text, false);
        stream.write(`id: ${id}\n${eventOf(text)}`);
      });
    });
    this.#runtime = runtime;
    this.#principal = principal;
    this.#stopListening = runtime.hub.listen(this.session);
    this.follow(known);
  }

  /** Follows what the record of its session says, and nothing else. */
  follow({ peer, uris }: KnownSession): void {
    if (peer.logLevel !== undefined) this.session.setLogLevel(peer.logLevel);
    this.session.keepOnly(uris);
    for (const uri of uris) void this.#subscribe(uri);
  }

  /** Ends the stream on our side. */
  end(): void {
    this.release();
    this.#stream.end();
  }

  /** Lets go of what was begun for it. */
  release(): void {
    this.#stopListening();
    this.session.end();
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
