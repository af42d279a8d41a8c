import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { onAbort } from "./async.ts";

test("onAbort gives a signal one listener, and calls each function that still waits", () => {
  const controller = new AbortController();
  const called: number[] = [];
  const stops = Array.from({ length: 30 }, (_, index) => onAbort(controller.signal, () => called.push(index)));
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
  for (const stop of stops.slice(0, 28)) stop();
  controller.abort();
  expect(called).toEqual([28, 29]);
  for (const stop of stops) stop();
  expect(getEventListeners(controller.signal, "abort")).toEqual([]);
});

test("onAbort leaves no listener when nothing waits any more, and may be used again", () => {
  const controller = new AbortController();
  const first = onAbort(controller.signal, () => {});
  first();
  expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  const called: string[] = [];
  onAbort(controller.signal, () => called.push("again"));
  // A wait that has ended does not end a later one.
  first();
  controller.abort();
  expect(called).toEqual(["again"]);
});
