import { PortolanError } from "../../errors.ts";
import { EventReader, type IncomingEvent } from "../../transport/sse.ts";
import { TextList } from "../../transport/text-list.ts";
import type { Clock } from "../deadlines.ts";
import { HttpFailure, mediaTypeOf, refused, tooLarge } from "./failure.ts";
import type { Head, Receiver } from "./options.ts";
import type { HttpRequests } from "./requests.ts";
import type { HttpSender, Sending } from "./send.ts";

/** What can be sent back in a header. */
const sendable = /^[ -~]+$/;

/** What every answer of one link is read with. */
export interface ReadingRules {
  readonly sender: HttpSender;
  readonly clock: Clock;
  readonly maxResponseBytes: number;
  readonly maxEventChars: number;
  readonly idleStreamMs: number;
  /** Whether the server has ever kept a stream alive: only then its silence says something. */
  keepsAlive: boolean;
}

/** Hears an answer: `begun`, then `body`, or events and `over`; or `failed` at any moment. */
export interface ReplyEvents {
  begun?(head: Head): void;
  /** An answer that is no stream, whole. */
  body(head: Head, text: string): void;
  event(event: IncomingEvent): void;
  /** A stream has ended, or broken for a reason. */
  over(reason: Error | undefined): void;
  /** There is no answer, or none that may be read. */
  failed(reason: Error): void;
}

/** One answer on its way: a whole body or a stream of events, within limits. */
export class HttpResponseReader implements Receiver {
  readonly #rules: ReadingRules;
  readonly #request: Sending;
  readonly #events: ReplyEvents;
  #cancel: (() => void) | undefined;
  #head: Head | undefined;
  #reader: EventReader | undefined;
  #body = "";
  /** Only of a body in pieces. */
  #pieces: TextList | undefined;
  #bytes = 0;
  #retryMs: number | undefined;
  #isOver = false;
  #heardAt = 0;
  #stopWatching: (() => void) | undefined;

  constructor(rules: ReadingRules, request: Sending, events: ReplyEvents) {
    this.#rules = rules;
    this.#request = request;
    this.#events = events;
  }

  /** The id to resume after, as a header can say it; empty when there is none. */
  get lastEventId(): string {
    const id = this.#reader?.lastEventId ?? "";
    return sendable.test(id) ? id : "";
  }

  /** How long the server wants the client to wait before it connects again. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  send(): void {
    this.#cancel = this.#rules.sender.send(this.#request, this);
  }

  /** Stops reading; nothing more is told. */
  cancel(): void {
    if (this.#isOver) return;
    this.#end();
    this.#cancel?.();
  }

  head(head: Head): void {
    this.#head = head;
    this.#events.begun?.(head);
    if (head.status < 300 && mediaTypeOf(head) === "text/event-stream") this.#readEvents();
  }

  text(text: string, bytes: number): void {
    if (this.#isOver) return;
    if (!this.#reader) {
      this.#keep(text, bytes);
      return;
    }
    if (this.#stopWatching) this.#heardAt = this.#rules.clock.now();
    try {
      this.#reader.push(text);
    } catch (reason) {
      if (!(reason instanceof PortolanError && reason.code === "message-too-large")) throw reason;
      this.#giveUp(tooLarge(this.#request, `with a stream of too large events: ${reason.message}`));
    }
  }

  end(): void {
    if (this.#isOver) return;
    this.#end();
    if (this.#reader) this.#events.over(undefined);
    else if (this.#head) this.#events.body(this.#head, this.#pieces?.take() ?? this.#body);
  }

  failed(reason: Error): void {
    if (this.#isOver) return;
    this.#end();
    if (this.#reader) this.#events.over(reason);
    else this.#events.failed(reason);
  }

  #readEvents(): void {
    const rules = this.#rules;
    const hear = (event: IncomingEvent) => {
      if (!this.#isOver) this.#events.event(event);
    };
    this.#reader = new EventReader(hear, {
      maxChars: rules.maxEventChars,
      onRetry: (ms) => {
        this.#retryMs = ms;
      },
      onComment: () => {
        rules.keepsAlive = true;
        this.#watch();
      },
    });
    if (rules.keepsAlive) this.#watch();
  }

  #keep(text: string, bytes: number): void {
    const { maxResponseBytes } = this.#rules;
    this.#bytes += bytes;
    if (this.#bytes <= maxResponseBytes) this.#add(text);
    else
      this.#giveUp(
        tooLarge(this.#request, `with more than ${maxResponseBytes} bytes; raise maxResponseBytes if it may`),
      );
  }

  // Hot path: most bodies come in one piece.
  #add(text: string): void {
    if (this.#body === "") {
      this.#body = text;
      return;
    }
    if (!this.#pieces) {
      this.#pieces = new TextList();
      this.#pieces.push(this.#body);
    }
    this.#pieces.push(text);
  }

  /** A half-open connection looks like a silent one: a stream that is kept alive and falls silent has ended. */
  #watch(): void {
    if (this.#stopWatching || this.#isOver) return;
    this.#heardAt = this.#rules.clock.now();
    this.#watchFor(this.#rules.idleStreamMs);
  }

  // One timer for a stream, not one for each event: it looks at what has come when it is due.
  #watchFor(ms: number): void {
    const { clock, idleStreamMs } = this.#rules;
    this.#stopWatching = clock.after(ms, () => {
      const rest = this.#heardAt + idleStreamMs - clock.now();
      if (rest > 0) {
        this.#watchFor(rest);
        return;
      }
      this.cancel();
      const what = `failed: its stream was silent for ${idleStreamMs} ms, without the keep-alives it had`;
      this.#events.over(new HttpFailure("connection-closed", this.#request, what));
    });
  }

  #giveUp(reason: PortolanError): void {
    this.cancel();
    this.#events.failed(reason);
  }

  #end(): void {
    this.#isOver = true;
    this.#stopWatching?.();
  }
}

/** Sends a request whose answer says no more than whether it was accepted; returns how to give it up. */
export function sendOneWay(
  traffic: HttpRequests,
  request: Sending,
  done: (failure: Error | undefined) => void,
): () => void {
  const events: ReplyEvents = {
    body(head: Head, text: string) {
      done(head.status < 300 ? undefined : refused(request, head, text));
    },
    event: (event: IncomingEvent) => traffic.receiveEvent(event),
    over: () => done(undefined),
    failed: done,
  };
  const reply = new HttpResponseReader(traffic, request, events);
  reply.send();
  return () => reply.cancel();
}
