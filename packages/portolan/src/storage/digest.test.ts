import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, sha256 } from "./digest.ts";

describe("canonicalJson", () => {
  test("members are sorted at every level, arrays are not", () => {
    const value = { b: [3, { z: 1, y: 2 }], a: null, "10": 1, "9": 2, é: "x", Z: true };
    expect(canonicalJson(value)).toBe('{"10":1,"9":2,"Z":true,"a":null,"b":[3,{"y":2,"z":1}],"é":"x"}');
  });

  test("undefined is left out of objects and is null in arrays, as in JSON", () => {
    expect(canonicalJson({ a: undefined, b: [undefined, () => 1], c: () => 1, d: Number.NaN })).toBe(
      '{"b":[null,null],"d":null}',
    );
  });

  test("a value that writes itself is asked to", () => {
    expect(canonicalJson({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  });

  test("a member named __proto__ counts", () => {
    expect(canonicalJson(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}');
  });

  test("it parses to the same value, and the order of members does not matter", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reversed(value))).toBe(text);
      }),
    );
  });

  test("what is no JSON is refused with a reason", () => {
    expect(() => canonicalJson(undefined)).toThrow(expect.objectContaining({ code: "unserializable" }));
    expect(() => canonicalJson({ a: 1n })).toThrow(expect.objectContaining({ code: "unserializable" }));
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(() => canonicalJson(cycle)).toThrow(expect.objectContaining({ code: "limit-reached" }));
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
    expect(() => canonicalJson(deep)).toThrow(expect.objectContaining({ code: "limit-reached" }));
  });
});

test("sha256 is the known digest, as base64url", async () => {
  expect(await sha256("")).toBe("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
  expect(await sha256("abc")).toBe("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
});

function reversed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  const members = Object.entries(value).map(([name, item]) => [name, reversed(item)]);
  return Object.fromEntries(members.reverse());
}
