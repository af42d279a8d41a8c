import { expect, test } from "vitest";
import { EventOrder, parseEvent, readEvents, type StreamedEvent } from "./event-stream.ts";

const activity = (n: number, boot = "b"): StreamedEvent => ({ boot, n, event: { kind: "activity", head: n } });
const reset = (n: number, boot = "b"): StreamedEvent => ({ boot, n, event: { kind: "reset", state: {} as never } });

test("reads an event with its id, and skips comments", () => {
  expect(parseEvent('id: boot.7\ndata: {"kind":"activity","head":3}')).toEqual({
    boot: "boot",
    n: 7,
    event: { kind: "activity", head: 3 },
  });
  expect(parseEvent(": still here")).toBeUndefined();
  expect(parseEvent('data: {"kind":"activity","head":3}')).toBeUndefined();
});

test("reads events however the bytes are divided", async () => {
  const text = [1, 2, 3].map((n) => `id: b.${n}\ndata: {"kind":"activity","head":${n}}\n\n`).join(": é\n\n");
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += 7) controller.enqueue(bytes.slice(at, at + 7));
      controller.close();
    },
  });
  const read: number[] = [];
  await readEvents(body, (events) => read.push(...events.map(({ n }) => n)));
  expect(read).toEqual([1, 2, 3]);
});

test("takes nothing before the first state, and no event twice", () => {
  const order = new EventOrder();
  expect(order.take([activity(1)])).toEqual([]);
  expect(order.take([reset(5), activity(5), activity(6)]).map(({ kind }) => kind)).toEqual(["reset", "activity"]);
  expect(order.take([activity(4), activity(6), activity(7)])).toEqual([{ kind: "activity", head: 7 }]);
  expect(order.place).toEqual({ boot: "b", n: 7 });
});

test("misses events after a gap and after another start of the console", () => {
  const order = new EventOrder();
  order.take([reset(5)]);
  expect(order.misses(undefined)).toBe(false);
  expect(order.misses({ boot: "b", n: 4 })).toBe(false);
  expect(order.misses({ boot: "b", n: 5 })).toBe(false);
  expect(order.misses({ boot: "b", n: 6 })).toBe(true);
  expect(order.misses({ boot: "other", n: 1 })).toBe(true);
  expect(order.take([activity(1, "other")])).toEqual([]);
  expect(order.take([reset(1, "other")])).toHaveLength(1);
});
