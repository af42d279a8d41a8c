import { expect, test } from "vitest";
import type { RunDone, RunEvent } from "./run.ts";
import { RunEventStream } from "./run.ts";

const done = { type: "done", reason: "done" } as RunDone;

function text(delta: string): RunEvent {
  return { type: "text", delta };
}

function progress(value: number): RunEvent {
  return { type: "tool", stage: "progress", id: "1", progress: { progress: value } };
}

/** A reader that has read one event and then stops. */
async function stalled(): Promise<{ stream: RunEventStream; reader: AsyncIterator<RunEvent>; onLeft: () => number }> {
  let count = 0;
  const stream = new RunEventStream(() => {
    count += 1;
  });
  const reader = stream[Symbol.asyncIterator]();
  const first = reader.next();
  await stream.emit(text("first"));
  await first;
  return { stream, reader, onLeft: () => count };
}

test("a run waits for a slow reader, and loses no event", async () => {
  const { stream, reader } = await stalled();
  for (let at = 1; at < 1_000; at += 1) await stream.emit(text(`${at}`));
  let emitted = 0;
  const waiting = ["a", "b", "c"].map((delta) => stream.emit(text(delta)).then(() => (emitted += 1)));
  await new Promise((resolve) => setImmediate(resolve));
  expect(emitted).toBe(0);
  await reader.next();
  await Promise.all(waiting);
  expect(emitted).toBe(3);
});

test("unread progress is dropped when the buffer is full", async () => {
  const { stream, reader } = await stalled();
  for (let at = 0; at < 100_000; at += 1) void stream.emit(progress(at));
  stream.release();
  await stream.emit(done);
  let events = 0;
  for (let next = await reader.next(); !next.done; next = await reader.next()) events += 1;
  expect(events).toBe(1_001);
});

test("a run that ends does not wait for its reader", async () => {
  const { stream } = await stalled();
  const waiting = Array.from({ length: 1_200 }, (_, at) => stream.emit(text(`${at}`)));
  stream.release();
  await Promise.all(waiting);
  await stream.emit(done);
  expect(await stream.result).toBe(done);
});

test("without a reader events are dropped, and the result still resolves", async () => {
  const stream = new RunEventStream(() => {});
  for (let at = 0; at < 5_000; at += 1) await stream.emit(text(`${at}`));
  await stream.emit(done);
  expect(await stream.result).toBe(done);
  const events: RunEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(events.length).toBeLessThanOrEqual(1_000);
  expect(events.at(-1)).toBe(done);
});

test("onLeft is called for a reader that leaves before the end only", async () => {
  const { reader, onLeft, stream } = await stalled();
  await reader.return?.();
  expect(onLeft()).toBe(1);
  await stream.emit(done);
  expect(onLeft()).toBe(1);
  let leaving = 0;
  const other = new RunEventStream(() => {
    leaving += 1;
  });
  const reading = other[Symbol.asyncIterator]();
  await other.emit(done);
  expect([(await reading.next()).done, (await reading.next()).done]).toEqual([false, true]);
  expect(leaving).toBe(0);
});

test("without a reader a run keeps a limited number of characters of results", async () => {
  const stream = new RunEventStream(() => {});
  const data = "x".repeat(1024 * 1024);
  for (let at = 0; at < 100; at += 1) {
    const result = { content: [{ type: "text" as const, text: `${at} ${data}` }] };
    await stream.emit({ type: "tool", stage: "result", id: `${at}`, result });
  }
  await stream.emit(done);
  const ids: string[] = [];
  for await (const event of stream) if (event.type === "tool") ids.push(event.id);
  expect(ids.length).toBeLessThanOrEqual(16);
  expect(ids.at(-1)).toBe("99");
});

test("a run waits for a reader that has many characters to read", async () => {
  const { stream, reader } = await stalled();
  await stream.emit(text("x".repeat(15 * 1024 * 1024)));
  let isEmitted = false;
  const waiting = stream.emit(text("x".repeat(2 * 1024 * 1024))).then(() => {
    isEmitted = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isEmitted).toBe(false);
  await reader.next();
  await waiting;
});
