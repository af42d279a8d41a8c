import { isNestedDeeper, isObject, type JsonObject } from "./json.ts";
import { ExpectationFailed, TimedOut } from "./reply.ts";
import { type Tap, toValue } from "./trace.ts";
import type { Sink } from "./wire/wire.ts";

const maxMessages = 10_000;
/** Levels of nested values in one message. */
const maxLevels = 1_000;

/** Stores everything that a server sends, and wakes waiting scenarios. */
export class Inbox implements Sink {
  /** All messages in order of arrival; batches are unpacked. */
  readonly messages: JsonObject[] = [];
  /** Received data that is not a message. */
  readonly noises: string[] = [];
  /** Why nothing more will arrive. */
  closedReason: string | undefined;
  /** Called with each message before it wakes anyone. */
  onMessage: (message: JsonObject) => void = () => {};
  readonly sent: Sink["sent"];
  readonly #tap: Tap | undefined;
  readonly #responses = new Map<unknown, readonly JsonObject[]>();
  readonly #timeoutMs: number;
  readonly #startMs: number;
  #watchers: (() => void)[] = [];

  /** Waits up to `startMs` for the first message, then up to `timeoutMs` for each further one. */
  constructor(timeoutMs: number, startMs: number, tap?: Tap) {
    this.#tap = tap;
    this.sent = tap && ((text) => text.trim() !== "" && tap("sent", toValue(text)));
    this.#timeoutMs = timeoutMs;
    this.#startMs = startMs;
  }

  received(value: unknown): void {
    if (isNestedDeeper(value, maxLevels)) {
      this.noise(`a message that is nested deeper than ${maxLevels} levels`);
      return;
    }
    this.#tap?.("received", value);
    for (const one of Array.isArray(value) ? value : [value]) {
      if (!isObject(one)) this.#keepNoise(JSON.stringify(one));
      else if (this.messages.length < maxMessages) {
        this.messages.push(one);
        if (one["method"] === undefined) this.#responses.set(one["id"], [...this.responses(one["id"]), one]);
        this.onMessage(one);
      } else this.closed("the server sent more messages than the grader accepts");
    }
    this.wake();
  }

  noise(text: string): void {
    this.#tap?.("received", text);
    this.#keepNoise(text);
    this.wake();
  }

  closed(why: string): void {
    this.closedReason ??= why;
    this.wake();
  }

  /** Returns the responses with an id; `1` and `"1"` are different ids. */
  responses(id: unknown): readonly JsonObject[] {
    return this.#responses.get(id) ?? [];
  }

  notifications(method: string): JsonObject[] {
    return this.messages.filter((message) => message["method"] === method && !("id" in message));
  }

  /** Resolves to the first defined result of `look`. Rejects after a timeout, and when the connection is closed. */
  wait<T>(what: string, look: () => T | undefined): Promise<T> {
    const limitMs = this.messages.length === 0 ? this.#startMs : this.#timeoutMs;
    return new Promise((resolve, reject) => {
      const again = () => {
        const found = look();
        if (found === undefined && this.closedReason === undefined) {
          this.#watchers.push(again);
          return;
        }
        clearTimeout(timer);
        if (found === undefined)
          reject(new ExpectationFailed(`waited for ${what}; got the end of the connection: ${this.closedReason}`));
        else resolve(found);
      };
      const timer = setTimeout(() => {
        this.#watchers = this.#watchers.filter((watcher) => watcher !== again);
        reject(new TimedOut(`waited ${limitMs} ms for ${what}, in vain`));
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
