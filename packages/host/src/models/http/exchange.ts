import { type JsonObject, PortolanError } from "portolan";
import { EventReader } from "portolan/internal";
import { firstRetryDelayMs, maxErrorBodyChars } from "../limits.ts";
import type { ModelEvent, ModelRequest } from "../model.ts";
import {
  errorIn,
  limitReached,
  ModelFailure,
  providerError,
  refused,
  timedOut,
  unreachable,
  unusable,
  withProgress,
} from "./failures.ts";
import type { Provider, RetryClock } from "./provider.ts";
import { Chunks, type TurnBuilder } from "./turn.ts";

/** Reads the responses of one API and adds them to the turn. */
export interface TurnReader {
  readonly turn: TurnBuilder;
  /** Reads one event of a stream. Returns true after the last one. */
  readEvent(data: JsonObject): boolean;
  /** Reads a response that is one JSON body. */
  readBody(body: JsonObject): void;
  /** Ends the turn. Returns false if the turn is incomplete. `hasEndMarker`: the provider has marked the end. */
  finish(hasEndMarker: boolean): boolean;
}

/** Sends a request and streams the turn. Retries temporary failures as long as no part of the turn has arrived. */
export async function* exchange(
  provider: Provider,
  request: ModelRequest,
  body: JsonObject,
  createReader: () => TurnReader,
): AsyncGenerator<ModelEvent> {
  const { signal } = request;
  signal?.throwIfAborted();
  const text = JSON.stringify(body);
  for (let attempt = 1; ; attempt += 1) {
    const reader = createReader();
    try {
      for await (const event of sendOnce(provider, signal, text, reader)) {
        yield event;
        // After an abort, buffered events are dropped.
        if (event.type !== "end") signal?.throwIfAborted();
      }
      return;
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      const delayMs = delayAfter(error, attempt, provider);
      const isOver = reader.turn.received !== "" || attempt > provider.retries;
      if (isOver || delayMs === undefined) throw withProgress(error, reader.turn.received, attempt);
      provider.onRetry?.({ attempt, delayMs, reason: error });
      await pauseFor(provider.clock, delayMs, signal);
    }
  }
}

/** Returns the pause before the next attempt; undefined if there is none. */
function delayAfter(failure: ModelFailure, attempt: number, { maxDelayMs }: Provider): number | undefined {
  if (!failure.isTemporary) return undefined;
  const requested = failure.retryAfterMs ?? 0;
  // An earlier attempt would be refused again.
  if (requested > maxDelayMs) return undefined;
  // Jitter, so that clients which failed together do not return together.
  const backoff = firstRetryDelayMs * 2 ** (attempt - 1) * (1 + Math.random() / 4);
  return Math.max(requested, Math.min(backoff, maxDelayMs));
}

async function* sendOnce(
  provider: Provider,
  signal: AbortSignal | undefined,
  body: string,
  reader: TurnReader,
): AsyncGenerator<ModelEvent> {
  // A local variable, because browsers refuse `fetch` with another `this`.
  const { fetch } = provider;
  const timer = new StallTimer(provider, signal);
  try {
    const response = await timer.wait(
      fetch(provider.url, {
        method: "POST",
        headers: provider.headers,
        body,
        redirect: "manual",
        signal: timer.signal,
      }),
    );
    if (!response.ok) throw refused(provider, response, await new Chunks(response, timer).text(maxErrorBodyChars));
    const type = (response.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
    if (type === "text/html") throw unusable(provider, "a web page", response.status);
    if (type === "application/json") yield* readWhole(provider, response, timer, reader);
    else yield* readStream(provider, response, timer, reader);
  } finally {
    timer.stop();
  }
}

async function* readWhole(
  provider: Provider,
  response: Response,
  timer: StallTimer,
  reader: TurnReader,
): AsyncGenerator<ModelEvent> {
  const { totalChars } = provider.limits;
  const text = await new Chunks(response, timer).text(totalChars + 1);
  if (text.length > totalChars) throw limitReached(provider, `${totalChars} characters`);
  const body = toObject(provider, text);
  throwReportedError(provider, body);
  reader.readBody(body);
  if (!reader.finish(false)) throw unusable(provider, "a JSON body that is not a model turn");
  yield* reader.turn.take();
}

async function* readStream(
  provider: Provider,
  response: Response,
  timer: StallTimer,
  reader: TurnReader,
): AsyncGenerator<ModelEvent> {
  const { limits } = provider;
  let isOver = false;
  let total = 0;
  const events = new EventReader(
    ({ data }) => {
      if (isOver || data.trim() === "") return;
      if (data.trim() === "[DONE]") {
        isOver = true;
        return;
      }
      const object = toObject(provider, data);
      throwReportedError(provider, object);
      isOver = reader.readEvent(object);
    },
    { maxChars: limits.eventChars },
  );
  const chunks = new Chunks(response, timer);
  try {
    while (!isOver) {
      const hasEnded = reader.turn.stopReason !== undefined;
      const chunk = await (hasEnded ? chunks.nextSoon() : chunks.next());
      if (chunk === undefined) break;
      total += chunk.length;
      if (total > limits.totalChars) throw limitReached(provider, `${limits.totalChars} characters`);
      yield* pushEvents(events, chunk, provider, reader);
    }
    // Some providers send no blank line after the last event.
    if (!isOver) yield* pushEvents(events, "\n\n", provider, reader);
    if (!reader.finish(isOver)) {
      throw new ModelFailure(`${provider.name} ended its stream before the turn was over. Try again.`, {
        status: response.status,
        isTemporary: true,
      });
    }
    yield* reader.turn.take();
  } finally {
    if (isOver) await chunks.drain();
    chunks.close();
  }
}

/** Parses a chunk. Yields the events before a failure, then throws it, so that no text is lost. */
function* pushEvents(events: EventReader, text: string, provider: Provider, reader: TurnReader): Generator<ModelEvent> {
  let failure: unknown;
  try {
    events.push(text);
  } catch (error) {
    failure = error;
  }
  yield* reader.turn.take();
  if (failure instanceof PortolanError && failure.code === "message-too-large") {
    throw limitReached(provider, `${provider.limits.eventChars} characters in one event`);
  }
  if (failure !== undefined) throw failure;
}

function toObject(provider: Provider, text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unusable(provider, `data that is not JSON (${text.length} characters)`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw unusable(provider, `${Array.isArray(value) ? "an array" : `a ${typeof value}`} where an object was expected`);
}

function throwReportedError(provider: Provider, object: JsonObject): void {
  if (object["error"] === undefined || object["error"] === null) return;
  throw providerError(provider, errorIn(object) ?? { message: undefined, kind: "" });
}

/** The timeouts of one request. It aborts when the caller aborts, on silence, and after the total time. */
export class StallTimer {
  readonly #provider: Provider;
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #stopTotal: () => void;
  readonly #abort = (): void => this.#controller.abort(this.#caller?.reason);

  constructor(provider: Provider, caller: AbortSignal | undefined) {
    this.#provider = provider;
    this.#caller = caller;
    caller?.addEventListener("abort", this.#abort, { once: true });
    const { clock, totalMs } = provider;
    const late = `did not finish within ${totalMs} ms`;
    this.#stopTotal = clock.after(totalMs, () => this.#controller.abort(timedOut(provider, late)));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for the provider. Silence is only counted during this call, not while the caller handles an event. */
  async wait<T>(work: Promise<T>): Promise<T> {
    const { clock, idleMs } = this.#provider;
    const silent = `was silent for ${idleMs} ms`;
    const stop = clock.after(idleMs, () => this.#controller.abort(timedOut(this.#provider, silent)));
    try {
      return await untilAborted(work, this.signal);
    } catch (error) {
      throw this.#explain(error);
    } finally {
      stop();
    }
  }

  throwIfAborted(): void {
    this.#caller?.throwIfAborted();
  }

  /** Returns the reason of an aborted or failed wait. */
  #explain(error: unknown): unknown {
    if (this.#caller?.aborted) return this.#caller.reason;
    const { aborted, reason } = this.signal;
    return aborted ? reason : unreachable(this.#provider, error);
  }

  /** Aborts the request and clears all timers. */
  stop(): void {
    this.#caller?.removeEventListener("abort", this.#abort);
    this.#stopTotal();
    this.#controller.abort();
  }
}

/** Resolves after a pause. Rejects if the signal aborts. */
function pauseFor(clock: RetryClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  let stop = () => {};
  const pause = new Promise<void>((resolve) => {
    stop = clock.after(ms, resolve);
  });
  return signal === undefined ? pause : untilAborted(pause, signal).finally(() => stop());
}

/** Rejects when the signal aborts, even if the work ignores the signal. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    const done = () => signal.removeEventListener("abort", abort);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(done);
  });
}
