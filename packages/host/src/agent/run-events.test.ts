import { expect, test } from "vitest";
import type { NumberedRunEvent, RunDone, RunEvent } from "./run.ts";
import { RunEventStream } from "./run-events.ts";

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
  for (let at = 0; at < 15_000; at += 1) await stream.emit(text(`${at}`));
  await stream.emit(done);
  expect(await stream.result).toBe(done);
  const events: RunEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(events).toHaveLength(10_001);
  expect(events[0]).toEqual({ type: "lost", count: 5_001 });
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

async function readAll(events: AsyncIterable<NumberedRunEvent>): Promise<NumberedRunEvent[]> {
  const read: NumberedRunEvent[] = [];
  for await (const event of events) read.push(event);
  return read;
}

test("any number of readers get all events, numbered without gaps", async () => {
  const stream = new RunEventStream(() => {});
  const early = Promise.all([readAll(stream.events()), readAll(stream.events())]);
  for (let at = 1; at <= 2_000; at += 1) await stream.emit(text(`${at}`));
  const late = readAll(stream.events(1_500));
  await stream.emit(done);
  const [first = [], second] = await early;
  expect(first.map(({ seq }) => seq)).toEqual(Array.from({ length: 2_001 }, (_, at) => at + 1));
  expect(first[41]).toEqual({ type: "text", delta: "42", seq: 42 });
  expect(second).toEqual(first);
  expect(await late).toEqual(first.slice(1_500));
  expect(await readAll(stream.events(2_001))).toEqual([]);
});

test("a reader of events() that leaves ends neither the run nor the other readers", async () => {
  let left = 0;
  const stream = new RunEventStream(() => {
    left += 1;
  });
  const leaving = stream.events()[Symbol.asyncIterator]();
  const waiting = leaving.next();
  const other = readAll(stream.events());
  await leaving.return?.();
  expect(await waiting).toEqual({ value: undefined, done: true });
  expect(await leaving.next()).toEqual({ value: undefined, done: true });
  await stream.emit(text("on"));
  for await (const event of stream.events()) if (event.type === "text") break;
  await stream.emit(done);
  expect((await other).map(({ type }) => type)).toEqual(["text", "done"]);
  expect(left).toBe(0);
});

test("a run does not wait for a slow reader of events(), which gets the number of lost events first", async () => {
  const stream = new RunEventStream(() => {});
  const slow = stream.events()[Symbol.asyncIterator]();
  await stream.emit(text("1"));
  expect((await slow.next()).value).toMatchObject({ seq: 1 });
  for (let at = 2; at <= 12_000; at += 1) await stream.emit(text(`${at}`));
  expect((await slow.next()).value).toEqual({ type: "lost", count: 1_999, seq: 2_000 });
  expect((await slow.next()).value).toEqual({ type: "text", delta: "2001", seq: 2_001 });
  const behind = stream.events(500)[Symbol.asyncIterator]();
  expect((await behind.next()).value).toEqual({ type: "lost", count: 1_500, seq: 2_000 });
});

test("kept events are limited in characters, and the last one is always kept", async () => {
  const stream = new RunEventStream(() => {});
  for (let at = 0; at < 5; at += 1) await stream.emit(text("x".repeat(6 * 1024 * 1024)));
  await stream.emit(text("x".repeat(20 * 1024 * 1024)));
  await stream.emit(done);
  const [lost, ...rest] = await readAll(stream.events());
  expect(lost).toEqual({ type: "lost", count: 6, seq: 6 });
  expect(rest.map(({ type, seq }) => [type, seq])).toEqual([["done", 7]]);
});

test("a reader of the iteration that the run waits for loses nothing to the readers of events()", async () => {
  const { stream, reader } = await stalled();
  const other = stream.events()[Symbol.asyncIterator]();
  for (let at = 0; at < 999; at += 1) await stream.emit(text(`${at}`));
  let isEmitted = false;
  const waiting = stream.emit(text("held")).then(() => {
    isEmitted = true;
  });
  for (let at = 0; at < 1_001; at += 1) await other.next();
  expect(isEmitted).toBe(false);
  expect((await reader.next()).value).toEqual(text("0"));
  await waiting;
});

test.each([[-1], [2], [0.5], [Number.NaN], ["1"]])(
  "events(%j) is refused where the run has one event",
  async (after) => {
    const stream = new RunEventStream(() => {});
    await stream.emit(text("1"));
    expect(() => stream.events(after as number)).toThrow("expected the number of an event of this run, at most 1");
  },
);

test("a second reader of the iteration is told of events()", () => {
  const stream = new RunEventStream(() => {});
  stream[Symbol.asyncIterator]();
  expect(() => stream[Symbol.asyncIterator]()).toThrow("or read `run.events()`");
});
