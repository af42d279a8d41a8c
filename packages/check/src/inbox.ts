import { isObject, type JsonObject } from "./json.ts";
import { Failed, Silence } from "./reply.ts";
import { type Tap, toValue } from "./trace.ts";
import type { Sink } from "./wire/wire.ts";

const maxMessages = 10_000;

/** Keeps all that a server says, and wakes whoever waits for something. */
export class Inbox implements Sink {
  /** Every message, in the order of arrival, those of batches one by one. */
  readonly messages: JsonObject[] = [];
  /** What was no message at all. */
  readonly noises: string[] = [];
  /** Why nothing more will come. */
  over: string | undefined;
  /** Hears each message first. */
  onMessage: (message: JsonObject) => void = () => {};
  readonly sent: Sink["sent"];
  readonly #tap: Tap | undefined;
  readonly #responses = new Map<unknown, readonly JsonObject[]>();
  readonly #timeoutMs: number;
  readonly #startMs: number;
  #watchers: (() => void)[] = [];

  /** Waits for the first message as long as a server may take to start, then as long as it may take for anything. */
  constructor(timeoutMs: number, startMs: number, tap?: Tap) {
    this.#tap = tap;
    this.sent = tap && ((text) => text.trim() !== "" && tap("sent", toValue(text)));
    this.#timeoutMs = timeoutMs;
    this.#startMs = startMs;
  }

  received(value: unknown): void {
    this.#tap?.("received", value);
    for (const one of Array.isArray(value) ? value : [value]) {
      if (!isObject(one)) this.#keepNoise(JSON.stringify(one));
      else if (this.messages.length < maxMessages) {
        this.messages.push(one);
        if (one["method"] === undefined) this.#responses.set(one["id"], [...this.responses(one["id"]), one]);
        this.onMessage(one);
      } else this.closed("the server sent more messages than a client can hold");
    }
    this.wake();
  }

  noise(text: string): void {
    this.#tap?.("received", text);
    this.#keepNoise(text);
    this.wake();
  }

  closed(why: string): void {
    this.over ??= why;
    this.wake();
  }

  /** The responses under an id; `1` and `"1"` are two ids. */
  responses(id: unknown): readonly JsonObject[] {
    return this.#responses.get(id) ?? [];
  }

  notifications(method: string): JsonObject[] {
    return this.messages.filter((message) => message["method"] === method && !("id" in message));
  }

  /** Resolves to what `look` finds, when it finds something; fails in time, and when nothing more will come. */
  wait<T>(what: string, look: () => T | undefined): Promise<T> {
    const limitMs = this.messages.length === 0 ? this.#startMs : this.#timeoutMs;
    return new Promise((resolve, reject) => {
      const again = () => {
        const found = look();
        if (found === undefined && this.over === undefined) {
          this.#watchers.push(again);
          return;
        }
        clearTimeout(timer);
        if (found === undefined) reject(new Failed(`waited for ${what}; got the end of the connection: ${this.over}`));
        else resolve(found);
      };
      const timer = setTimeout(() => {
        this.#watchers = this.#watchers.filter((watcher) => watcher !== again);
        reject(new Silence(`waited ${limitMs} ms for ${what}; it did not come`));
      }, limitMs);
      again();
    });
  }

  wake(): void {
    for (const watcher of this.#watchers.splice(0)) watcher();
  }

  #keepNoise(text: string): void {
    if (this.noises.length < 100) this.noises.push(text.slice(0, 200));
  }
}
