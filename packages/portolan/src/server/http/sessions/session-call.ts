import type { JsonObject } from "../../../jsonrpc/message.ts";
import type { InputRequest } from "../../../protocol/types/index.ts";
import type { ReturnPath, ServedExchange } from "../../call/exchange.ts";
import type { Remembering } from "../../channel/session.ts";
import type { PostReply } from "../reply.ts";
import type { LiveSessions } from "./live-sessions.ts";

/** What the requests of all sessions need. */
export interface SessionParts {
  readonly live: LiveSessions;
  remember(id: string): Remembering;
}

/** The way back to the client of a session: an object with methods, because every request pays for it. */
export class SessionCall implements ReturnPath {
  readonly writesText = true;
  readonly #id: string;
  readonly #answer: PostReply;
  readonly #parts: SessionParts;

  constructor(id: string, answer: PostReply, parts: SessionParts) {
    this.#id = id;
    this.#answer = answer;
    this.#parts = parts;
  }

  get session(): Remembering {
    return this.#parts.remember(this.#id);
  }

  notify(method: string, params: JsonObject): void {
    this.#answer.say({ jsonrpc: "2.0", method, params });
  }

  hangUp(): void {
    this.#answer.hangUp();
  }

  async ask(exchange: ServedExchange, question: InputRequest): Promise<JsonObject> {
    const live = this.#parts.live.open(this.#id);
    try {
      return await live.ask(exchange, this.#answer, question);
    } finally {
      this.#parts.live.forgetIdle(live);
    }
  }
}
