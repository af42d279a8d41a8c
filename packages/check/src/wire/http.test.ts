import { expect, test } from "vitest";
import { EventReader, type ServerEvent } from "./http.ts";

const stream =
  ': hello\r\nevent: endpoint\r\ndata: /messages/1\r\n\r\nid: 7\ndata: {"text":\ndata: "🌊"}\n\nretry: 5\n\n';
const expected = [
  { type: "endpoint", data: "/messages/1", id: undefined },
  { type: "message", data: '{"text":\n"🌊"}', id: "7" },
];

test("reads events from chunks of any size", () => {
  const bytes = Buffer.from(stream);
  for (let size = 1; size <= bytes.length; size += 1) {
    const reader = new EventReader();
    const events: ServerEvent[] = [];
    for (let from = 0; from < bytes.length; from += size)
      events.push(...reader.read(bytes.subarray(from, from + size)));
    expect(events, `in pieces of ${size}`).toEqual(expected);
  }
});

test("ignores an incomplete event", () => {
  expect(new EventReader().read(Buffer.from("data: 1\n"))).toEqual([]);
});
