import { type ReadonlySignal, signal } from "@preact/signals";

/** The time, as long as somebody looks at it. */
export function createClock(periodMs: number): ReadonlySignal<number> {
  const now = signal(Date.now(), {
    watched() {
      this.value = Date.now();
      timer = setInterval(() => {
        this.value = Date.now();
      }, periodMs);
    },
    unwatched() {
      clearInterval(timer);
    },
  });
  let timer: ReturnType<typeof setInterval> | undefined;
  return now;
}
