import { beforeAll, describe, expect, test } from "vitest";
import { ByteList, LineReader, type LineReaderOptions, scanners } from "./framing.ts";
import type { Message } from "./message.ts";

// Before it is loaded, lines that cannot be parsed arrive later: framing.fuzz.test.ts waits for them.
beforeAll(async () => {
  await scanners.get();
});

type Heard = { message: Message } | { batch: Message[] } | { problem: unknown };

const encoder = new TextEncoder();
const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
const pong = { jsonrpc: "2.0", id: 1, result: {} };
const note = { jsonrpc: "2.0", method: "note" };

function read(input: string | Uint8Array, options?: LineReaderOptions, size = Number.POSITIVE_INFINITY): Heard[] {
  const heard: Heard[] = [];
  const reader = new LineReader(
    {
      message: (message) => heard.push({ message }),
      batch: (batch) => heard.push({ batch }),
      unreadable: (problem) => heard.push({ problem }),
    },
    options,
  );
  const bytes = typeof input === "string" ? encoder.encode(input) : input;
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.slice(at, at + size));
  reader.end();
  return heard;
}

function concat(...parts: (string | number[])[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...encoder.encode(part)] : part)));
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

describe.each([1, 2, 7, Number.POSITIVE_INFINITY])("in chunks of %d bytes", (size) => {
  test("lines arrive in order", () => {
    const heard = read(line(ping) + line(note) + line(pong), {}, size);
    expect(heard).toEqual([{ message: ping }, { message: note }, { message: pong }]);
  });

  test("characters of several bytes may be split between chunks", () => {
    const message = { ...note, params: { text: "é 漢 🧭 \u2028" } };
    expect(read(line(message), {}, size)).toEqual([{ message }]);
  });

  test("CRLF and blank lines are accepted", () => {
    const text = `\n\r\n  \t\n${JSON.stringify(ping)}\r\n\r\n${JSON.stringify(note)}\r\n`;
    expect(read(text, {}, size)).toEqual([{ message: ping }, { message: note }]);
  });

  test("a last line without newline is read at the end", () => {
    expect(read(line(ping) + JSON.stringify(note), {}, size)).toEqual([{ message: ping }, { message: note }]);
  });

  test("one byte order mark at the start of the stream is skipped", () => {
    expect(read(`\uFEFF${line(ping)}`, {}, size)).toEqual([{ message: ping }]);
  });

  test("a byte order mark anywhere else is invalid JSON", () => {
    const stray = { problem: { code: -32700, answerable: false, why: expect.stringContaining("expected a JSON") } };
    expect(read(`\uFEFF\uFEFF${line(ping)}${line(note)}`, {}, size)).toEqual([stray, { message: note }]);
    expect(read(`${line(note)}\uFEFF${line(ping)}`, {}, size)).toEqual([{ message: note }, stray]);
  });

  test("half a byte order mark is reported as an invalid line", () => {
    const problem = { code: -32700, why: "the line is not valid UTF-8", answerable: false };
    expect(read(concat([0xef, 0xbb], line(ping), line(note)), {}, size)).toEqual([{ problem }, { message: note }]);
    expect(read(concat([0xef]), {}, size)).toEqual([{ problem }]);
  });

  test("only the line that is not UTF-8 is refused", () => {
    const broken = concat('{"jsonrpc":"2.0","id":4,"method":"', [0xff, 0xc3], '"}\n');
    const heard = read(concat(line(ping), [...broken], line(note)), {}, size);
    const problem = { code: -32700, why: "the line is not valid UTF-8", answerable: true, id: 4 };
    expect(heard).toEqual([{ message: ping }, { problem }, { message: note }]);
  });

  test("a line over the limit is refused with its id, first or last, and the next one is read", () => {
    const long = "x".repeat(100);
    const problem = { code: -32600, why: "message too large: over 64 bytes", isTooLarge: true, answerable: true };
    const idFirst = line({ jsonrpc: "2.0", id: "first", method: "a", params: { long } });
    const idLast = line({ method: "a", params: { long, id: 0 }, jsonrpc: "2.0", id: 9 });
    expect(read(idFirst + line(ping) + idLast + line(note), { maxBytes: 64 }, size)).toEqual([
      { problem: { ...problem, id: "first" } },
      { message: ping },
      { problem: { ...problem, id: 9 } },
      { message: note },
    ]);
  });

  test("a line over the limit is not answerable if it is a response, has no id and method, or is no JSON", () => {
    const long = "x".repeat(100);
    const problem = { code: -32600, why: "message too large: over 64 bytes", isTooLarge: true, answerable: false };
    const text =
      line({ jsonrpc: "2.0", id: 3, result: { long } }) +
      line({ jsonrpc: "2.0", error: { code: 1, message: long } }) +
      line([{ jsonrpc: "2.0", id: 3, result: { long } }]) +
      line({ long }) +
      `${long}{"id":3,"method":"a"}\n`;
    expect(read(text + line(ping), { maxBytes: 64 }, size)).toEqual([
      { problem: { ...problem, id: 3 } },
      { problem },
      { problem },
      { problem },
      { problem },
      { message: ping },
    ]);
  });

  test("a line of exactly the limit is read, one byte more is not", () => {
    const maxBytes = JSON.stringify(ping).length;
    expect(read(line(ping), { maxBytes }, size)).toEqual([{ message: ping }]);
    expect(read(line({ ...ping, id: 22 }), { maxBytes }, size)).toMatchObject([{ problem: { id: 22 } }]);
  });

  test("a line over the limit that never ends is reported at the end", () => {
    const heard = read(`{"method":"a","x":"${"x".repeat(100)}`, { maxBytes: 64 }, size);
    expect(heard).toMatchObject([{ problem: { code: -32600, answerable: true } }]);
  });
});

describe("text that is no JSON", () => {
  test("is reported without an answer if it does not start as JSON", () => {
    const why = 'expected a JSON object or array, got "dotenv: injecting env"';
    expect(read("dotenv: injecting env\n")).toEqual([{ problem: { code: -32700, why, answerable: false } }]);
    for (const text of ["42", '"text"', "null", 'log {"jsonrpc":"2.0","id":1,"method":"ping"}']) {
      expect(read(`${text}\n`)).toMatchObject([{ problem: { code: -32700, answerable: false } }]);
    }
  });

  test("is quoted in part only", () => {
    const [heard] = read(`${"y".repeat(100_000)}\n`) as { problem: { why: string } }[];
    expect(heard?.problem.why.length).toBeLessThan(200);
  });

  test("is answerable if it starts as JSON, with its id if that can be read", () => {
    const problem = { code: -32700, why: "the text is not valid JSON", answerable: true };
    expect(read('{"jsonrpc":"2.0","id":5,"method":"a",}\n')).toEqual([{ problem: { ...problem, id: 5 } }]);
    expect(read('{"jsonrpc":"2.0","id":5\n')).toEqual([{ problem }]);
    expect(read("{nonsense\n[1,\n")).toEqual([{ problem }, { problem }]);
  });

  test("is not answerable if it was a response", () => {
    expect(read('{"jsonrpc":"2.0","id":5,"result":{}\n')).toMatchObject([{ problem: { answerable: false, id: 5 } }]);
    expect(read('[{"jsonrpc":"2.0","id":5,"error":{}}\n')).toMatchObject([{ problem: { answerable: false } }]);
  });

  test("does not affect the lines around it", () => {
    expect(read(`${line(ping)}{oops\n${line(note)}`)).toMatchObject([
      { message: ping },
      { problem: {} },
      { message: note },
    ]);
  });
});

describe("JSON that is no message", () => {
  test("is refused under its id", () => {
    const heard = read(line({ jsonrpc: "1.0", id: 6, method: "a" }));
    expect(heard).toMatchObject([{ problem: { code: -32600, id: 6, answerable: true } }]);
  });

  test("may have a member named __proto__", () => {
    const [heard] = read('{"jsonrpc":"2.0","method":"a","params":{"__proto__":{"x":1}}}\n') as { message: Message }[];
    expect(JSON.stringify(heard?.message)).toContain('"__proto__":{"x":1}');
  });
});

describe("an array", () => {
  test("of messages is one batch", () => {
    expect(read(line([ping, note]))).toEqual([{ batch: [ping, note] }]);
  });

  test("that is empty is an empty batch", () => {
    expect(read("[]\n")).toEqual([{ batch: [] }]);
  });

  test("of a hundred messages is read, of one more refused", () => {
    expect(read(line(Array(100).fill(note)))).toEqual([{ batch: Array(100).fill(note) }]);
    const why = "batch: expected at most 100 messages, got 101";
    expect(read(line(Array(101).fill(note)))).toEqual([{ problem: { code: -32600, why, answerable: true } }]);
    expect(read(line(Array(101).fill(pong)))).toEqual([{ problem: { code: -32600, why, answerable: false } }]);
  });

  test("with one bad member is refused once, naming the member", () => {
    expect(read(line([ping, { jsonrpc: "2.0", method: 5 }]))).toEqual([
      { problem: { code: -32600, why: "batch[1]: method: expected a string, got number 5", answerable: true } },
    ]);
  });

  test("with a response, or without a request, is refused without an answer", () => {
    for (const batch of [[ping, pong, 1], [1, 2], [null], [[]]]) {
      expect(read(line(batch))).toMatchObject([{ problem: { code: -32600, answerable: false } }]);
    }
  });
});

test("one piece is returned without a copy", () => {
  const list = new ByteList();
  const piece = Uint8Array.of(1, 2, 3);
  list.push(piece);
  expect(list.take()).toBe(piece);
});

test("take joins the pieces in order and empties the list", () => {
  const list = new ByteList();
  list.push(Uint8Array.of(1));
  list.push(Uint8Array.of(2, 3));
  expect(list.length).toBe(3);
  expect(list.take()).toEqual(Uint8Array.of(1, 2, 3));
  expect(list.length).toBe(0);
  expect(list.take()).toEqual(new Uint8Array(0));
});

test("many single bytes are merged into few pieces", () => {
  const list = new ByteList();
  const bytes = Uint8Array.from({ length: 10_000 }, (_, at) => at % 251);
  for (let at = 0; at < bytes.length; at++) list.push(bytes.subarray(at, at + 1));
  const pieces = list.takePieces();
  expect(pieces.length).toBeLessThan(300);
  expect(pieces.flatMap((piece) => [...piece])).toEqual([...bytes]);
});

test("large pieces are not copied", () => {
  const list = new ByteList();
  const large = new Uint8Array(64 * 1024);
  for (let count = 0; count < 600; count++) list.push(large);
  const pieces = list.takePieces();
  expect(pieces).toHaveLength(600);
  expect(pieces.every((piece) => piece === large)).toBe(true);
});
