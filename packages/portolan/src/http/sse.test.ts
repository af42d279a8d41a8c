import fc from "fast-check";
import { expect, test } from "vitest";
import { PortolanError } from "../errors.ts";
import { EventReader, type EventReaderOptions, encodeEvent, type IncomingEvent } from "./sse.ts";

interface Reading {
  reader: EventReader;
  events: IncomingEvent[];
  retries: number[];
  comments(): number;
}

function start(options: EventReaderOptions = {}): Reading {
  const events: IncomingEvent[] = [];
  const retries: number[] = [];
  let comments = 0;
  const reader = new EventReader((event) => events.push(event), {
    onRetry: (ms) => retries.push(ms),
    onComment: () => {
      comments += 1;
    },
    ...options,
  });
  return { reader, events, retries, comments: () => comments };
}

function read(...chunks: string[]): IncomingEvent[] {
  const { reader, events } = start();
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return events;
}

const message = (data: string, id?: string): IncomingEvent => ({ id, event: "message", data });

test("an event is written field by field and ended by a blank line", () => {
  expect(encodeEvent({ data: '{"a":1}' })).toBe('data: {"a":1}\n\n');
  expect(encodeEvent({ id: "7", event: "message", retry: 250, data: "x" })).toBe(
    "event: message\nid: 7\nretry: 250\ndata: x\n\n",
  );
  expect(encodeEvent({ id: "prime", data: "" })).toBe("id: prime\ndata: \n\n");
});

test("data with line ends takes several lines", () => {
  expect(encodeEvent({ data: "a\nb\r\nc\rd\n" })).toBe("data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
});

test("an id or event that would break out of its line is refused", () => {
  for (const value of ["a\nb", "a\rb", "\r\n", "a\0b"]) {
    for (const field of ["id", "event"]) {
      expect(() => encodeEvent({ [field]: value, data: "x" })).toThrow(
        new PortolanError(
          "invalid-argument",
          `${field}: expected no line ends and no NUL, got ${JSON.stringify(value)}`,
        ),
      );
    }
  }
});

test("a retry that is not a whole number of milliseconds is refused", () => {
  for (const retry of [-1, 1.5, Number.NaN, 1e21]) {
    expect(() => encodeEvent({ retry, data: "x" })).toThrow("retry: expected whole milliseconds");
  }
});

test("readers skip a comment of any number of lines", () => {
  const { reader, events, comments } = start();
  reader.push(": still here\n\n: a\r\n: data: b\r: id: 5\n: \n: \n\n: \n\n");
  expect(events).toEqual([]);
  expect(comments()).toBe(7);
  expect(reader.lastEventId).toBe("");
});

const chunkSizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 40 })), {
  minLength: 1,
  maxLength: 8,
});

/** Cuts the text into chunks of the given sizes, over and over. */
function cut(text: string, sizes: number[]): string[] {
  const chunks: string[] = [];
  for (let at = 0; at < text.length; at += chunks.at(-1)?.length ?? 0) {
    chunks.push(text.slice(at, at + (sizes[chunks.length % sizes.length] ?? 1)));
  }
  return chunks;
}

test("written events are read, in chunks of any size", () => {
  const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  const line = fc.string({ unit: codeUnit }).filter((text) => !/[\r\n\0]/.test(text));
  const data = fc.string({ unit: fc.oneof(fc.constantFrom("\n", " ", ":", "data: "), line) });
  const event = fc.record({
    id: fc.option(line, { nil: undefined }),
    event: fc.option(line, { nil: undefined }),
    data,
  });
  fc.assert(
    fc.property(fc.array(event), chunkSizes, (events, sizes) => {
      const text = events.map((one) => `${encodeEvent(one)}: alive\n\n`).join("");
      const expected = events.map((one) => ({ ...one, event: one.event || "message" }));
      expect(read(...cut(text, sizes))).toEqual(expected);
      expect(read(...cut(text.replaceAll("\n", "\r\n"), sizes))).toEqual(expected);
      expect(read(...cut(text.replaceAll("\n", "\r"), sizes))).toEqual(expected);
    }),
  );
});

/** The rules of WHATWG put plainly, for a whole stream at once. */
function readAtOnce(text: string): {
  events: IncomingEvent[];
  retries: number[];
  comments: number;
  lastEventId: string;
} {
  const read = { events: [] as IncomingEvent[], retries: [] as number[], comments: 0, lastEventId: "" };
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
  lines.pop();
  let id: string | undefined;
  let event = "";
  let data: string[] = [];
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (line === "") {
      if (id !== undefined) read.lastEventId = id;
      if (data.length > 0) read.events.push({ id, event: event || "message", data: data.join("\n") });
      id = undefined;
      event = "";
      data = [];
    } else if (line.startsWith(":")) read.comments += 1;
    else if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) read.retries.push(Number(value));
  }
  return read;
}

test("any text is read by the rules of the standard, in chunks of any size", () => {
  const word = fc.constantFrom(
    ...["\n", "\r", "\r\n", "\n\n", "data", "data:", "data: ", "data:  x", "event: e", "event", "id: 5", "id", "id:\0"],
    ...[
      "retry: 10",
      "retry: 1x",
      "retry",
      ":",
      ": comment",
      " ",
      "x",
      "\ufeff",
      "Data: x",
      "dat",
      "datax: y",
      "data:\ty",
    ],
  );
  fc.assert(
    fc.property(fc.string({ unit: word, maxLength: 40, size: "max" }), chunkSizes, (text, sizes) => {
      const { reader, events, retries, comments } = start();
      for (const chunk of cut(text, sizes)) reader.push(chunk);
      reader.end();
      expect({ events, retries, comments: comments(), lastEventId: reader.lastEventId }).toEqual(readAtOnce(text));
    }),
    { numRuns: 500 },
  );
});

test.each([
  ["data:x\n\n", [message("x")]],
  ["data:  x\n\n", [message(" x")]],
  ["data\n\n", [message("")]],
  ["data\ndata\n\n", [message("\n")]],
  ["data: a\nevent: e\ndata: b\nid: 1\n\n", [{ id: "1", event: "e", data: "a\nb" }]],
  ["event: e\n\ndata: x\n\n", [message("x")]],
  ["event: e\nevent\ndata: x\n\n", [message("x")]],
  ["\ufeffdata: x\n\n", [message("x")]],
  ["\ufeff\ufeffdata: x\n\n", []],
  ["data: a\n\n\ufeffdata: x\n\n", [message("a")]],
  ["id: a\0b\ndata: x\n\n", [message("x")]],
  ["DATA: x\n\n", []],
  ["data: x\r\r", [message("x")]],
  ["data: x\n\r", [message("x")]],
  ["data: x\r\n\r\n", [message("x")]],
  ["data: x\r\n", []],
  ["data: x\n", []],
  ["data: x", []],
] as [string, IncomingEvent[]][])("%j is read as it should be, whole and character by character", (text, events) => {
  expect(read(text)).toEqual(events);
  expect(read(...text)).toEqual(events);
});

test("an event is emitted at once if its blank line ends with a carriage return", () => {
  const { reader, events } = start();
  reader.push("data: a\r\n\r");
  expect(events).toEqual([message("a")]);
  reader.push("");
  reader.push("\ndata: b\r\n\r\n");
  expect(events).toEqual([message("a"), message("b")]);
});

test("the last id stays until another complete event has one", () => {
  const { reader, events } = start();
  expect(reader.lastEventId).toBe("");
  reader.push("id: 1\ndata: a\n\ndata: b\n\n");
  expect(reader.lastEventId).toBe("1");
  expect(events).toEqual([message("a", "1"), message("b")]);
  reader.push("id: 2\n");
  expect(reader.lastEventId).toBe("1");
  reader.push("\n");
  expect(reader.lastEventId).toBe("2");
  reader.push("id: 3\ndata: c\n");
  reader.end();
  expect(reader.lastEventId).toBe("2");
  reader.push("\ufeffdata: d\n\nid\n\n");
  expect(events.at(-1)).toEqual(message("d"));
  expect(reader.lastEventId).toBe("");
});

test("the last id is set before the event is emitted", () => {
  const seen: string[] = [];
  const reader: EventReader = new EventReader(() => seen.push(reader.lastEventId));
  reader.push("id: 1\ndata: a\n\nid: 2\ndata: b\n\n");
  expect(seen).toEqual(["1", "2"]);
});

test("a retry is reported at once, and at most as a timer allows", () => {
  const { reader, retries } = start();
  reader.push("retry: 250\nretry:\nretry: -1\nretry: 1e3\nretry: 0x10\nretry:  5\nretry: ٣\n");
  reader.push(`retry: ${"9".repeat(400)}\n`);
  expect(retries).toEqual([250, 2_147_483_647]);
});

test("an event of the largest size is read, a larger one is refused, in chunks of any size", () => {
  fc.assert(
    fc.property(chunkSizes, fc.constantFrom("\n", "\r", "\r\n"), (sizes, lineEnd) => {
      const fits = ["id: 1", "data: 45", "data: 89"].join(lineEnd) + lineEnd + lineEnd;
      const exact = start({ maxChars: 21 });
      for (const chunk of cut(fits.repeat(3), sizes)) exact.reader.push(chunk);
      expect(exact.events).toHaveLength(3);
      const less = start({ maxChars: 20 });
      expect(() => {
        for (const chunk of cut(`data: x${lineEnd}${lineEnd}${fits}`, sizes)) less.reader.push(chunk);
      }).toThrow(new PortolanError("message-too-large", "expected events of at most 20 characters, got a larger one"));
      expect(less.events).toEqual([message("x")]);
    }),
  );
});

test("nothing is read after an event that was too large until the stream ends", () => {
  const { reader, events } = start({ maxChars: 10 });
  expect(() => reader.push("data: 0123456789")).toThrow(PortolanError);
  expect(() => reader.push("\n\ndata: x\n\n")).toThrow(PortolanError);
  expect(() => reader.push("\n")).toThrow(PortolanError);
  expect(events).toEqual([]);
  reader.end();
  reader.push("data: y\n\n");
  expect(events).toEqual([message("y")]);
});

test("a line that never ends is refused, even a comment", () => {
  const { reader } = start({ maxChars: 1000 });
  expect(() => {
    for (let count = 0; count < 300; count++) reader.push(":...");
  }).toThrow(PortolanError);
});

test("comments between the lines of an event do not make it larger", () => {
  const { reader, events, comments } = start({ maxChars: 20 });
  for (let count = 0; count < 100; count++) reader.push(": alive\n");
  reader.push("data: x\n");
  for (let count = 0; count < 100; count++) reader.push(": alive\n");
  reader.push("\n");
  expect(events).toEqual([message("x")]);
  expect(comments()).toBe(200);
});

test("a large event in very many chunks arrives whole", () => {
  const { reader, events } = start();
  const data = "0123456789".repeat(20_000);
  for (const character of encodeEvent({ data })) reader.push(character);
  expect(events).toEqual([message(data)]);
});

test("an event of very many lines arrives whole", () => {
  const data = Array.from({ length: 20_000 }, (_, at) => String(at)).join("\n");
  expect(read(encodeEvent({ data }))).toEqual([message(data)]);
});

test("reading continues with the next chunk after a listener has thrown", () => {
  const heard: string[] = [];
  const reader = new EventReader(({ data }) => {
    heard.push(data);
    if (data === "bad") throw new Error("no");
  });
  expect(() => reader.push("data: bad\n\n")).toThrow("no");
  reader.push("data: good\n\n");
  expect(heard).toEqual(["bad", "good"]);
});
