import { PortolanError } from "../../errors.ts";
import { EventReader, type IncomingEvent } from "../../http/sse.ts";
import { TextList } from "../../http/text-list.ts";
import type { Clock } from "../deadlines.ts";
import { toError } from "../failures.ts";
import { HttpFailure, mediaTypeOf, refused, tooLarge } from "./failure.ts";
import type { Head, Receiver } from "./options.ts";
import type { HttpRequests } from "./requests.ts";
import type { HttpSender, LinkRequest } from "./send.ts";

export interface ReadingLimits {
  readonly maxResponseBytes: number;
  readonly maxEventChars: number;
  readonly idleStreamMs: number;
}

/** The limits and dependencies that all responses of one link share. */
export interface ReadingRules extends ReadingLimits {
  readonly sender: HttpSender;
  readonly clock: Clock;
  /** True once the server has sent a keep-alive: only then does silence mean a lost connection. */
  keepsAlive: boolean;
}

/** The events of a response: `started`, then `body`, or events and `ended`; or `failed` at any moment. */
export interface ReplyEvents {
  started?(head: Head): void;
  /** The whole body of a response that is not a stream. */
  body(head: Head, text: string): void;
  event(event: IncomingEvent): void;
  /** A stream has ended, with a reason if it was broken. */
  ended(reason: Error | undefined): void;
  /** There is no response, or it exceeds a limit. */
  failed(reason: Error): void;
}

/** Reads one response, a body or a stream of events, within limits. */
export class HttpResponseReader implements Receiver {
  readonly #rules: ReadingRules;
  readonly #request: LinkRequest;
  readonly #events: ReplyEvents;
  #cancel: (() => void) | undefined;
  #head: Head | undefined;
  #reader: EventReader | undefined;
  #body = "";
  /** Defined for a body in several pieces. */
  #pieces: TextList | undefined;
  #bytes = 0;
  #retryMs: number | undefined;
  #isOver = false;
  #lastTextAt = 0;
  #stopWatching: (() => void) | undefined;

  constructor(rules: ReadingRules, request: LinkRequest, events: ReplyEvents) {
    this.#rules = rules;
    this.#request = request;
    this.#events = events;
  }

  /** The id to resume after; empty if there is none that fits into a header. */
  get lastEventId(): string {
    const id = this.#reader?.lastEventId ?? "";
    return /^[ -~]+$/.test(id) ? id : "";
  }

  /** The pause before the next connection that the server asked for. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  send(): void {
    this.#cancel = this.#rules.sender.send(this.#request, this);
  }

  /** Stops reading. No further event is reported. */
  cancel(): void {
    if (this.#isOver) return;
    this.#end();
    this.#cancel?.();
  }

  head(head: Head): void {
    this.#head = head;
    this.#events.started?.(head);
    if (head.status < 300 && mediaTypeOf(head) === "text/event-stream") this.#readEvents();
  }

  text(text: string, bytes: number): void {
    if (this.#isOver) return;
    if (!this.#reader) {
      this.#keep(text, bytes);
      return;
    }
    if (this.#stopWatching) this.#lastTextAt = this.#rules.clock.now();
    try {
      this.#reader.push(text);
    } catch (thrown) {
      // An event that cannot be handled fails its request, never the process.
      const reason = toError(thrown);
      const isTooLarge = reason instanceof PortolanError && reason.code === "message-too-large";
      const what = `with a stream whose events are too large: ${reason.message}`;
      this.#giveUp(isTooLarge ? tooLarge(this.#request, what) : reason);
    }
  }

  end(): void {
    if (this.#isOver) return;
    this.#end();
    try {
      if (this.#reader) this.#events.ended(undefined);
      else if (this.#head) this.#events.body(this.#head, this.#pieces?.take() ?? this.#body);
    } catch (reason) {
      this.#events.failed(toError(reason));
    }
  }

  failed(reason: Error): void {
    if (this.#isOver) return;
    this.#end();
    if (this.#reader) this.#events.ended(reason);
    else this.#events.failed(reason);
  }

  #readEvents(): void {
    const rules = this.#rules;
    const onEvent = (event: IncomingEvent) => {
      if (!this.#isOver) this.#events.event(event);
    };
    this.#reader = new EventReader(onEvent, {
      maxChars: rules.maxEventChars,
      onRetry: (ms) => {
        this.#retryMs = ms;
      },
      onComment: () => {
        rules.keepsAlive = true;
        this.#watchIdle();
      },
    });
    if (rules.keepsAlive) this.#watchIdle();
  }

  #keep(text: string, bytes: number): void {
    const { maxResponseBytes } = this.#rules;
    this.#bytes += bytes;
    if (this.#bytes <= maxResponseBytes) this.#add(text);
    else
      this.#giveUp(
        tooLarge(this.#request, `with more than ${maxResponseBytes} bytes; raise maxResponseBytes if that is right`),
      );
  }

  // Hot path: most bodies arrive in one piece.
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

  /** Detects half-open connections: a stream with keep-alives that falls silent is lost. */
  #watchIdle(): void {
    if (this.#stopWatching || this.#isOver) return;
    this.#lastTextAt = this.#rules.clock.now();
    this.#watchIdleFor(this.#rules.idleStreamMs);
  }

  // One timer per stream, not per event: when it fires, it checks the time of the last text.
  #watchIdleFor(ms: number): void {
    const { clock, idleStreamMs } = this.#rules;
    this.#stopWatching = clock.after(ms, () => {
      const rest = this.#lastTextAt + idleStreamMs - clock.now();
      if (rest > 0) {
        this.#watchIdleFor(rest);
        return;
      }
      this.cancel();
      const what = `failed: its stream was silent for ${idleStreamMs} ms and its keep-alives stopped`;
      this.#events.ended(new HttpFailure("connection-closed", this.#request, what));
    });
  }

  #giveUp(reason: Error): void {
    this.cancel();
    this.#events.failed(reason);
  }

  #end(): void {
    this.#isOver = true;
    this.#stopWatching?.();
  }
}

/** Sends a request whose response only reports success or failure. Returns a function that cancels it. */
export function sendOneWay(
  requests: HttpRequests,
  request: LinkRequest,
  done: (failure: Error | undefined) => void,
): () => void {
  const events: ReplyEvents = {
    body(head: Head, text: string) {
      done(head.status < 300 ? undefined : refused(request, head, text));
    },
    event: (event: IncomingEvent) => requests.receiveEvent(event),
    ended: () => done(undefined),
    failed: done,
  };
  const reply = new HttpResponseReader(requests, request, events);
  reply.send();
  return () => reply.cancel();
}
