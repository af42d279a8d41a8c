import type { Bus } from "../../../storage/storage.ts";
import type { Snapshot } from "../../define/snapshot.ts";
import { firstRetryMs, maxRetryMs } from "../limits.ts";

/** The topic of the news that the storage has lost its data. */
export const lossTopic = "mcp/data-lost";

/** Tries until it succeeds, with growing pauses. Returns the function that stops trying. */
export function retry(attempt: () => Promise<void>): () => void {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = (pauseMs: number): void => {
    attempt().catch(() => {
      if (isStopped) return;
      timer = setTimeout(() => begin(Math.min(2 * pauseMs, maxRetryMs)), pauseMs);
      if (typeof timer === "object") timer.unref?.();
    });
  };
  begin(firstRetryMs);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** Receives the messages of a topic, and learns how the subscription fares. */
export interface Subscriber {
  receive(value: string): void;
  /** Messages may be missing: also called when the subscription begins after it had failed. */
  lost(): void;
  /** The subscription failed, and is tried again. Called once. */
  failed(cause: unknown): void;
}

/**
 * Subscribes to a topic of the bus. A bus that fails is tried again until it is back: a process that starts while its
 * storage is down would never hear the others otherwise. Returns the function that ends the subscription.
 */
export function keepSubscribed(bus: Bus, topic: string, subscriber: Subscriber): () => Promise<void> {
  let hasFailed = false;
  let isStopped = false;
  let subscribing: Promise<() => Promise<void>> | undefined;
  const stopTrying = retry(async () => {
    subscribing = bus.subscribe(
      topic,
      (value) => subscriber.receive(value),
      () => subscriber.lost(),
    );
    try {
      await subscribing;
    } catch (cause) {
      if (!hasFailed && !isStopped) subscriber.failed(cause);
      hasFailed = true;
      throw cause;
    }
    if (hasFailed && !isStopped) subscriber.lost();
  });
  return async () => {
    isStopped = true;
    stopTrying();
    // A subscription that has failed needs no end.
    const stop = await subscribing?.catch(() => undefined);
    await stop?.();
  };
}

/** Returns the topics of the lists that can change: what to tell a listener that may have missed publications. */
export function changeableLists({ isLive, listsTemplates, offered }: Snapshot): string[] {
  return [
    ...(isLive && offered.tools ? ["tools/list_changed"] : []),
    ...(isLive && offered.prompts ? ["prompts/list_changed"] : []),
    ...((isLive || listsTemplates) && offered.resources ? ["resources/list_changed"] : []),
  ];
}
