import fc from "fast-check";
import { expect, test } from "vitest";
import { LineReader } from "./framing.ts";
import type { Message } from "./message.ts";

const encoder = new TextEncoder();
const last: Message = { jsonrpc: "2.0", id: "the last one", method: "still/here" };

function collect(maxBytes?: number): { reader: LineReader; messages: Message[]; problems: unknown[] } {
  const messages: Message[] = [];
  const problems: unknown[] = [];
  const incoming = {
    message: (message: Message) => messages.push(message),
    batch: (batch: Message[]) => messages.push(...batch),
    unreadable: (problem: unknown) => problems.push(problem),
  };
  return { reader: new LineReader(incoming, maxBytes === undefined ? {} : { maxBytes }), messages, problems };
}

/** Cuts the bytes into chunks of the given sizes, over and over. */
function feed(reader: LineReader, bytes: Uint8Array, sizes: number[]): void {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    reader.push(bytes.slice(at, at + size));
    at += size;
  }
}

const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 300 })), {
  minLength: 1,
  maxLength: 10,
});
const text = fc.string({ unit: "binary", maxLength: 20 });
const id = fc.oneof(fc.maxSafeInteger(), text);
const object = fc.dictionary(text, fc.jsonValue({ maxDepth: 2, noUnicodeString: false }), { maxKeys: 4 });
const message = fc.oneof(
  fc.record(
    { jsonrpc: fc.constant("2.0"), id, method: text, params: object },
    { requiredKeys: ["jsonrpc", "id", "method"] },
  ),
  fc.record({ jsonrpc: fc.constant("2.0"), method: text, params: object }, { requiredKeys: ["jsonrpc", "method"] }),
  fc.record({ jsonrpc: fc.constant("2.0"), id, result: object }),
  fc.record({ jsonrpc: fc.constant("2.0"), id, error: fc.record({ code: fc.integer(), message: text }) }),
);

test("valid messages arrive exactly and in order under any chunking", () => {
  const lineEnd = fc.constantFrom("\n", "\r\n", "\n\n", " \n");
  fc.assert(
    fc.property(
      fc.array(fc.tuple(message, lineEnd), { maxLength: 12 }),
      sizes,
      fc.boolean(),
      (lines, cuts, hasMark) => {
        const texts = lines.map(([value]) => JSON.stringify(value));
        const wire = lines.map(([, end], at) => texts[at] + end).join("");
        const { reader, messages, problems } = collect();
        feed(reader, encoder.encode((hasMark ? "\uFEFF" : "") + wire), cuts);
        reader.end();
        expect(messages.map((value) => JSON.stringify(value))).toEqual(
          texts.map((value) => JSON.stringify(JSON.parse(value))),
        );
        expect(problems).toEqual([]);
      },
    ),
    { numRuns: 300 },
  );
});

test("no bytes make the reader throw or lose the valid line after them", async () => {
  const ascii = fc.string({ maxLength: 60 }).map((value) => [...encoder.encode(value)]);
  const jsonLike = fc
    .array(fc.constantFrom("{", "}", "[", "]", '"id"', ":", ",", "1", '"', "\\", "\n", "\r", '"result"', "\uFEFF"), {
      maxLength: 30,
    })
    .map((parts) => [...encoder.encode(parts.join(""))]);
  const anyByte = fc.uint8Array({ maxLength: 60 }).map((value) => [...value]);
  const noise = fc.array(fc.oneof(anyByte, ascii, jsonLike), { maxLength: 8 }).map((parts) => parts.flat());
  await fc.assert(
    fc.asyncProperty(
      noise,
      sizes,
      fc.option(fc.integer({ min: 80, max: 200 }), { nil: undefined }),
      async (bytes, cuts, limit) => {
        const { reader, messages } = collect(limit);
        feed(reader, Uint8Array.from([...bytes, 0x0a, ...encoder.encode(`${JSON.stringify(last)}\n`)]), cuts);
        await reader.end();
        expect(messages.at(-1)).toEqual(last);
      },
    ),
    { numRuns: 500 },
  );
});

test("broken lines do not affect the valid lines around them", async () => {
  const broken = fc.constantFrom(
    "{",
    '{"id":1',
    "[1,",
    "oops",
    '{"jsonrpc":"2.0"}',
    "\u0000",
    '{"jsonrpc":"2.0","id":1.5,"method":"a"}',
  );
  const lines = fc.array(
    fc.oneof(
      message.map((value) => ({ value })),
      broken.map((raw) => ({ raw })),
    ),
    { maxLength: 15 },
  );
  await fc.assert(
    fc.asyncProperty(lines, sizes, async (all, cuts) => {
      const valid = all.flatMap((line) => ("value" in line ? [JSON.stringify(line.value)] : []));
      const wire = all.map((line) => `${"value" in line ? JSON.stringify(line.value) : line.raw}\n`).join("");
      const { reader, messages, problems } = collect();
      feed(reader, encoder.encode(wire), cuts);
      await reader.end();
      expect(messages.map((value) => JSON.stringify(value))).toEqual(
        valid.map((value) => JSON.stringify(JSON.parse(value))),
      );
      expect(problems).toHaveLength(all.length - valid.length);
    }),
  );
});

test("a line over the limit is reported with its id and does not affect the next message", async () => {
  const maxBytes = 120;
  const long = fc.tuple(id, fc.integer({ min: maxBytes, max: 2000 }), fc.boolean()).map(([value, length, isIdLast]) => {
    const rest = { method: "a", params: { long: '\\"{é'.repeat(length / 4) } };
    return {
      id: value,
      text: JSON.stringify(isIdLast ? { ...rest, jsonrpc: "2.0", id: value } : { id: value, ...rest }),
    };
  });
  await fc.assert(
    fc.asyncProperty(fc.array(long, { minLength: 1, maxLength: 4 }), sizes, async (lines, cuts) => {
      const { reader, messages, problems } = collect(maxBytes);
      feed(reader, encoder.encode(lines.map((line) => `${line.text}\n${JSON.stringify(last)}\n`).join("")), cuts);
      await reader.end();
      expect(messages).toEqual(lines.map(() => last));
      const why = `message too large: over ${maxBytes} bytes`;
      const expected = lines.map((line) => ({
        code: -32600,
        why,
        isTooLarge: true,
        answerable: true,
        id: JSON.parse(JSON.stringify(line.id)),
      }));
      expect(problems).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});
