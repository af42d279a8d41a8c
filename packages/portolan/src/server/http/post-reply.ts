import type { RpcNotification, RpcRequest } from "../../jsonrpc/message.ts";
import { serialize } from "../../jsonrpc/serialize.ts";
import type { Accepted } from "./accept.ts";
import type { HttpHeaders, HttpReply } from "./door.ts";
import type { Expiry, OpenStream, Streams } from "./streams.ts";

const retryMs = 1_000;
const dispensable = ["notifications/progress", "notifications/message"];

/** Keeps what is said on a stream, so that it can be read after the connection was lost. */
export interface Recorder {
  /** The event before all others, which lets a client come back before it has heard anything. */
  readonly opening: string | undefined;
  /** The stream begins: from here on its client may come back. */
  begin(): Promise<void>;
  /** Resolves to the id of the event. */
  append(text: string, isLast: boolean): Promise<string>;
}

export interface PostReplyOptions {
  readonly headers: HttpHeaders;
  readonly accepts: Accepted;
  readonly principal: string;
  readonly recorder?: Recorder;
}

/** The answer to one POST: JSON, unless something has to be said before it. */
export class PostReply {
  readonly #reply: HttpReply;
  readonly #streams: Streams;
  readonly #options: PostReplyOptions;
  #stream: OpenStream | undefined;
  #isOver = false;
  /** For answers that are never finished. */
  expiry: Expiry | undefined;
  #quiet: ReturnType<typeof setTimeout> | undefined;
  #recorded: Promise<void> = Promise.resolve();

  constructor(reply: HttpReply, streams: Streams, options: PostReplyOptions) {
    this.#reply = reply;
    this.#streams = streams;
    this.#options = options;
  }

  /** Whether something can be said before the answer. */
  get maySpeak(): boolean {
    return (
      this.#options.accepts.events && (this.#stream !== undefined || this.#streams.hasRoom(this.#options.principal))
    );
  }

  /** A call that is silent for so long becomes a stream, which can be kept alive. */
  streamAfter(quietMs: number): void {
    if (!this.#options.accepts.events || this.#isOver || this.#stream) return;
    this.#quiet = setTimeout(() => this.#begin(), quietMs);
    if (typeof this.#quiet === "object") this.#quiet.unref?.();
  }

  /** Says something before the answer; not to clients that take no stream. */
  say(message: RpcNotification | RpcRequest): void {
    if (this.#isOver || !this.#begin()) return;
    if (this.#stream?.isSlow && dispensable.includes(message.method)) return;
    this.#write(serialize(message), false);
  }

  /** Sends the answer and ends. */
  finish(text: string, status: number): void {
    if (this.#isOver) return;
    if (!this.#options.accepts.json) this.#begin();
    this.#end();
    if (this.#stream) this.#write(text, true);
    else this.#reply.send(status, { ...this.#options.headers, "content-type": "application/json" }, text);
  }

  /** Nobody wants an answer any more: the connection is ended without one. */
  drop(): void {
    if (this.#isOver) return;
    this.#end();
    if (!this.#stream) this.#reply.send(202, this.#options.headers);
    else if (this.#options.recorder) this.#write("", true);
    else this.#stream.end();
  }

  /** Whether there is a stream now. */
  #begin(): boolean {
    if (!this.#stream && this.#options.accepts.events && !this.#isOver) {
      const { headers, principal, recorder } = this.#options;
      this.#stream = this.#streams.open(this.#reply, headers, principal);
      if (this.#stream) this.#stream.expiry = this.expiry;
      if (recorder && this.#stream) {
        this.#recorded = recorder.begin().catch(() => {});
        if (recorder.opening !== undefined) this.#stream.write(recorder.opening);
      }
      clearTimeout(this.#quiet);
    }
    return this.#stream !== undefined;
  }

  #write(text: string, isLast: boolean): void {
    const { recorder } = this.#options;
    if (!recorder) {
      this.#stream?.write(eventOf(text));
      if (isLast) this.#stream?.end();
      return;
    }
    this.#recorded = this.#recorded.then(async () => {
      // What cannot be kept is sent all the same: only the way back is lost.
      const id = await recorder.append(text, isLast).catch(() => undefined);
      if (text !== "") this.#stream?.write(`${id === undefined ? "" : `id: ${id}\n`}${eventOf(text)}`);
      if (isLast) this.#stream?.end();
    });
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#quiet);
  }
}

/** One message as an event; JSON text has no raw line ends, so that one line of data is enough. */
export function eventOf(text: string): string {
  return `event: message\ndata: ${text}\n\n`;
}

/** The event before all others: its id is the start of the stream, and a client that loses it comes back after a while. */
export function opening(stream: string): string {
  return `id: ${stream}_\nretry: ${retryMs}\ndata: \n\n`;
}
