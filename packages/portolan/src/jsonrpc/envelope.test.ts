import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EnvelopeScanner } from "./envelope.ts";

const encoder = new TextEncoder();

function scan(text: string, size = Number.POSITIVE_INFINITY): EnvelopeScanner {
  const scanner = new EnvelopeScanner();
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length; at += size) scanner.feed(bytes.subarray(at, at + size));
  return scanner;
}

describe("the id", () => {
  test.each([
    ['{"id":7,"method":"a"}', 7],
    ['{"method":"a","params":{"id":8},"id":9}', 9],
    ['{"method":"a","id":"last"}', "last"],
    [' { "id" : -3 , "x" : 1 } ', -3],
    ['{"id":0}', 0],
    ['{"id":""}', ""],
    ['{"id":"1"}', "1"],
    ['{"id":"a\\"b\\\\"}', 'a"b\\'],
    ['{"\\u0069d":"\\u00e9é"}', "éé"],
    ['{"id":1,"id":2}', 2],
    ['{"id":1e3}', 1000],
    ['{"id":9007199254740991}', 9007199254740991],
  ])("of %s is read as JSON.parse reads it, in any chunking", (text, id) => {
    expect((JSON.parse(text) as { id: unknown }).id).toBe(id);
    for (const size of [1, 2, 3, 1000]) expect(scan(text, size).id).toBe(id);
  });

  test.each([
    ['{"params":{"id":1}}'],
    ['{"params":[{"id":1}]}'],
    ['{"x":"\\"id\\":1"}'],
    ['{"x":"id","y":1}'],
    ['{"id":null}'],
    ['{"id":true}'],
    ['{"id":1.5}'],
    ['{"id":9007199254740992}'],
    ['{"id":{"id":1}}'],
    ['{"id":[1]}'],
    ['{"id":1,"id":null}'],
    ['{"id":1,"id":{"a":2}}'],
    ['{"id":1x}'],
    ['[{"id":1}]'],
    ['"id":1'],
    ["{}"],
    [""],
  ])("is not read from %s", (text) => {
    for (const size of [1, 1000]) expect(scan(text, size).id).toBeUndefined();
  });

  test("that is cut off is not read as a shorter one", () => {
    expect(scan('{"method":"a","id":12').id).toBeUndefined();
    expect(scan('{"method":"a","id":"ab').id).toBeUndefined();
  });

  test("is read if the text breaks off after it", () => {
    expect(scan('{"id":5,"params":{"a":[1,').id).toBe(5);
  });

  test("is not read from text after the message", () => {
    expect(scan('{"method":"a"} {"id":5}').id).toBeUndefined();
  });

  test("longer than a kilobyte is skipped, and the scan goes on", () => {
    const scanner = scan(`{"id":"${"x".repeat(2000)}","${"k".repeat(2000)}":1,"method":"a"}`);
    expect(scanner).toMatchObject({ id: undefined, hasMethod: true });
    expect(scan(`{"id":1.${"0".repeat(2000)}e5}`).id).toBeUndefined();
  });

  test("that is not UTF-8 is not read", () => {
    const scanner = new EnvelopeScanner();
    scanner.feed(Uint8Array.from([...encoder.encode('{"id":"'), 0xff, ...encoder.encode('","method":"a"}')]));
    expect(scanner).toMatchObject({ id: undefined, hasMethod: true });
  });
});

describe("the kind of message", () => {
  test.each([
    ['{"method":"a"}', { hasMethod: true, isReply: false }],
    ['{"id":1,"result":{}}', { hasMethod: false, isReply: true }],
    ['{"error":{"code":1}}', { hasMethod: false, isReply: true }],
    ['{"params":{"method":1,"result":2,"error":3}}', { hasMethod: false, isReply: false }],
    ['{"a":"method","b":"result"}', { hasMethod: false, isReply: false }],
    ['[{"method":"a"},{"id":1,"result":{}}]', { hasMethod: true, isReply: true }],
    ['[["method","result"],"error"]', { hasMethod: false, isReply: false }],
    ['[{"method":"a","params":{"error":1}}]', { hasMethod: true, isReply: false }],
  ])("of %s is known", (text, kind) => {
    for (const size of [1, 1000]) expect(scan(text, size)).toMatchObject(kind);
  });

  test("tells JSON from other text by its first byte", () => {
    expect(scan(' \t\r{"a').startsAsJson).toBe(true);
    expect(scan("[").startsAsJson).toBe(true);
    expect(scan('log: {"method":"a"}')).toMatchObject({ startsAsJson: false, hasMethod: false });
  });
});

test("for every JSON object the scan agrees with JSON.parse", () => {
  const key = fc.constantFrom("id", "method", "result", "error", "params", "x");
  const object = fc.dictionary(key, fc.oneof(fc.jsonValue(), fc.integer(), fc.string()));
  fc.assert(
    fc.property(object, fc.integer({ min: 1, max: 9 }), fc.boolean(), (value, size, isSpaced) => {
      const text = JSON.stringify(value, null, isSpaced ? 2 : 0);
      const { id } = value;
      const isId = typeof id === "string" || Number.isSafeInteger(id);
      expect(scan(text, size)).toMatchObject({
        id: isId ? (JSON.parse(text) as { id: unknown }).id : undefined,
        hasMethod: "method" in value,
        isReply: "result" in value || "error" in value,
        startsAsJson: true,
      });
    }),
  );
});
