import { expect, test } from "vitest";
import { Feed } from "./feed.ts";

type Event = { key?: string; value: number } | { lost: number };

function createFeed(maxUnread?: number, maxUnreadChars?: number): Feed<Event> {
  return new Feed<Event>({
    sizeOf: (event) => ("value" in event ? event.value : 0),
    ...(maxUnreadChars !== undefined && { maxUnreadChars }),
    keyOf: (event) => ("value" in event ? event.key : undefined),
    lost: (lost) => ({ lost }),
    ...(maxUnread !== undefined && { maxUnread }),
  });
}

async function readAll(reader: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of reader) events.push(event);
  return events;
}

test("a reader receives all events after it began, also before its first next", async () => {
  const feed = createFeed();
  feed.emit({ value: 1 });
  const [first, second] = [feed.read(), feed.read((event) => "value" in event && event.value > 2)];
  feed.emit({ value: 2 });
  feed.emit({ value: 3 });
  feed.end();
  expect(await readAll(first)).toEqual([{ value: 2 }, { value: 3 }]);
  expect(await readAll(second)).toEqual([{ value: 3 }]);
});

test("unread events with the same key replace each other", async () => {
  const feed = createFeed();
  const reader = feed.read();
  for (let value = 0; value < 100; value += 1) feed.emit({ key: "progress", value });
  feed.emit({ value: 7 });
  feed.end();
  expect(await readAll(reader)).toEqual([{ key: "progress", value: 99 }, { value: 7 }]);
});

test("a slow reader receives the number of lost events", async () => {
  const feed = createFeed(3);
  const reader = feed.read();
  for (let value = 0; value < 10; value += 1) feed.emit({ value });
  feed.end();
  expect(await readAll(reader)).toEqual([{ lost: 7 }, { value: 7 }, { value: 8 }, { value: 9 }]);
});

test("a waiting reader receives an event at once, and a reader that leaves is removed", async () => {
  const feed = createFeed();
  const reader = feed.read();
  const next = reader.next();
  feed.emit({ value: 1 });
  expect(await next).toEqual({ value: { value: 1 }, done: false });
  await reader.return?.();
  expect(feed.hasReaders).toBe(false);
  expect(await reader.next()).toEqual({ value: undefined, done: true });
});

test("a slow reader keeps a limited number of characters", async () => {
  const feed = createFeed(undefined, 100);
  const reader = feed.read();
  for (const value of [40, 50, 60, 30, 200]) feed.emit({ value });
  feed.emit({ value: 90 });
  feed.end();
  expect(await readAll(reader)).toEqual([{ lost: 5 }, { value: 90 }]);
});
