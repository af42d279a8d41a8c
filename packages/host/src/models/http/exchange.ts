import { type JsonObject, PortolanError } from "portolan";
import { EventReader } from "portolan/internal";
import type { ModelEvent, ModelRequest } from "../model.ts";
import {
  complained,
  complaintIn,
  inContext,
  ModelFailure,
  refused,
  tooMuch,
  tooSlow,
  unreachable,
  unusable,
} from "./failures.ts";
import type { Provider, RetryClock } from "./provider.ts";
import { Chunks, type Gathering } from "./turn.ts";

const firstDelayMs = 500;
const maxErrorChars = 64 * 1024;

/** How a dialect is read: what comes goes into the gathering. */
export interface TurnReader {
  readonly turn: Gathering;
  /** One event of a stream; true when nothing more is to come. */
  hear(data: JsonObject): boolean;
  /** An answer that is no stream. */
  hearWhole(body: JsonObject): void;
  /** The answer is over, `isToldSo` when the provider said that it is: ends the turn; false when the turn was not over. */
  finish(isToldSo: boolean): boolean;
}

/** Sends a request and streams the turn; sends it again while nothing has come of it and the failure may pass. */
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
        // What has come already is not given out after an abort.
        if (event.type !== "end") signal?.throwIfAborted();
      }
      return;
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      const delayMs = delayAfter(error, attempt, provider);
      const isOver = reader.turn.arrived !== "" || attempt > provider.retries;
      if (isOver || delayMs === undefined) throw inContext(error, reader.turn.arrived, attempt);
      provider.onRetry?.({ attempt, delayMs, reason: error });
      await pauseFor(provider.clock, delayMs, signal);
    }
  }
}

/** The pause before the next attempt; undefined when there is none. */
function delayAfter(failure: ModelFailure, attempt: number, { maxDelayMs }: Provider): number | undefined {
  if (!failure.mayPass) return undefined;
  const asked = failure.retryAfterMs ?? 0;
  // To come back earlier than asked would only be refused again.
  if (asked > maxDelayMs) return undefined;
  // Programs that were refused together do not come back together.
  const grown = firstDelayMs * 2 ** (attempt - 1) * (1 + Math.random() / 4);
  return Math.max(asked, Math.min(grown, maxDelayMs));
}

async function* sendOnce(
  provider: Provider,
  signal: AbortSignal | undefined,
  body: string,
  reader: TurnReader,
): AsyncGenerator<ModelEvent> {
  // Alone: browsers refuse a `fetch` that is called as the member of something else.
  const { fetch } = provider;
  const watch = new Watch(provider, signal);
  try {
    const response = await watch.wait(
      fetch(provider.url, {
        method: "POST",
        headers: provider.headers,
        body,
        redirect: "manual",
        signal: watch.signal,
      }),
    );
    if (!response.ok) throw refused(provider, response, await new Chunks(response, watch).text(maxErrorChars));
    const type = (response.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
    if (type === "text/html") throw unusable(provider, "a web page", response.status);
    if (type === "application/json") yield* readWhole(provider, response, watch, reader);
    else yield* readStream(provider, response, watch, reader);
  } finally {
    watch.stop();
  }
}

async function* readWhole(
  provider: Provider,
  response: Response,
  watch: Watch,
  reader: TurnReader,
): AsyncGenerator<ModelEvent> {
  const { totalChars } = provider.limits;
  const text = await new Chunks(response, watch).text(totalChars + 1);
  if (text.length > totalChars) throw tooMuch(provider, `${totalChars} characters`);
  const body = toObject(provider, text);
  throwComplaint(provider, body);
  reader.hearWhole(body);
  if (!reader.finish(false)) throw unusable(provider, "a body that is no turn of a model");
  yield* reader.turn.take();
}

async function* readStream(
  provider: Provider,
  response: Response,
  watch: Watch,
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
      const said = toObject(provider, data);
      throwComplaint(provider, said);
      isOver = reader.hear(said);
    },
    { maxChars: limits.eventChars },
  );
  const chunks = new Chunks(response, watch);
  try {
    while (!isOver) {
      const hasEnded = reader.turn.stopReason !== undefined;
      const chunk = await (hasEnded ? chunks.nextSoon() : chunks.next());
      if (chunk === undefined) break;
      total += chunk.length;
      if (total > limits.totalChars) throw tooMuch(provider, `${limits.totalChars} characters`);
      yield* heard(events, chunk, provider, reader);
    }
    // The last event of a careless provider has no blank line after it.
    if (!isOver) yield* heard(events, "\n\n", provider, reader);
    if (!reader.finish(isOver)) {
      throw new ModelFailure(`${provider.name} ended its stream before the turn was over. Try again.`, {
        status: response.status,
        mayPass: true,
      });
    }
    yield* reader.turn.take();
  } finally {
    if (isOver) await chunks.linger();
    chunks.close();
  }
}

/** Yields what came before a failure, then fails: no text is lost to the event after it. */
function* heard(events: EventReader, text: string, provider: Provider, reader: TurnReader): Generator<ModelEvent> {
  let failure: unknown;
  try {
    events.push(text);
  } catch (error) {
    failure = error;
  }
  yield* reader.turn.take();
  if (failure instanceof PortolanError && failure.code === "message-too-large") {
    throw tooMuch(provider, `${provider.limits.eventChars} characters in one event`);
  }
  if (failure !== undefined) throw failure;
}

function toObject(provider: Provider, text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unusable(provider, `what is no JSON (${text.length} characters)`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw unusable(provider, `${Array.isArray(value) ? "an array" : `a ${typeof value}`} where an object was expected`);
}

function throwComplaint(provider: Provider, said: JsonObject): void {
  if (said["error"] === undefined || said["error"] === null) return;
  throw complained(provider, complaintIn(said) ?? { message: undefined, word: "" });
}

/** One request under watch: it ends when its caller gives up, and when it takes too long. */
export class Watch {
  readonly #provider: Provider;
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #stopTotal: () => void;
  readonly #giveUp = (): void => this.#controller.abort(this.#caller?.reason);

  constructor(provider: Provider, caller: AbortSignal | undefined) {
    this.#provider = provider;
    this.#caller = caller;
    caller?.addEventListener("abort", this.#giveUp, { once: true });
    const { clock, totalMs } = provider;
    const late = `was not done after ${totalMs} ms`;
    this.#stopTotal = clock.after(totalMs, () => this.#controller.abort(tooSlow(provider, late)));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for something the provider does; the time in which nobody waits for it does not count as its silence. */
  async wait<T>(work: Promise<T>): Promise<T> {
    const { clock, idleMs } = this.#provider;
    const silent = `was silent for ${idleMs} ms`;
    const stop = clock.after(idleMs, () => this.#controller.abort(tooSlow(this.#provider, silent)));
    try {
      return await untilAborted(work, this.signal);
    } catch (error) {
      throw this.#explain(error);
    } finally {
      stop();
    }
  }

  throwIfGivenUp(): void {
    this.#caller?.throwIfAborted();
  }

  /** Why there is nothing to wait for any more. */
  #explain(error: unknown): unknown {
    if (this.#caller?.aborted) return this.#caller.reason;
    const { aborted, reason } = this.signal;
    return aborted ? reason : unreachable(this.#provider, error);
  }

  /** Nothing of the request remains. */
  stop(): void {
    this.#caller?.removeEventListener("abort", this.#giveUp);
    this.#stopTotal();
    this.#controller.abort();
  }
}

/** Resolves after a while; rejects when the signal aborts before. */
export function pauseFor(clock: RetryClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  let stop = () => {};
  const pause = new Promise<void>((resolve) => {
    stop = clock.after(ms, resolve);
  });
  return signal === undefined ? pause : untilAborted(pause, signal).finally(() => stop());
}

/** Also ends the wait for work that knows nothing of the signal. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    const done = () => signal.removeEventListener("abort", abort);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(done);
  });
}
