import { describe, expect, test } from "vitest";
import { bodyLimits, decodeBody, isTooSlow, isUnreadable } from "./body.ts";
import { readBody } from "./read-body.ts";

describe("a body", () => {
  const limits = bodyLimits({ bodyBytes: 10, bodyMs: 1_000 });

  test("has the limits of the options, and defaults without them", () => {
    expect(limits).toEqual({ bytes: 10, ms: 1_000 });
    expect(bodyLimits({})).toEqual({ bytes: 4 * 1024 * 1024, ms: 30_000 });
  });

  test("is too slow only after its time and below the minimal rate", () => {
    expect(isTooSlow(0, 1_000, limits)).toBe(false);
    expect(isTooSlow(0, 1_001, limits)).toBe(true);
    expect(isTooSlow(64 * 1024 * 2, 2_000, limits)).toBe(false);
    expect(isTooSlow(64 * 1024 * 2 - 1, 2_000, limits)).toBe(true);
  });

  test("is decoded without its byte order mark", () => {
    expect(decodeBody(Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x7d))).toBe("{}");
  });

  test("is a problem with status 400 if it is not UTF-8", () => {
    expect(decodeBody(Uint8Array.of(0xc3, 0x28))).toMatchObject({ status: 400 });
  });

  test("with one message is read synchronously", () => {
    expect(readBody('{"jsonrpc":"2.0","id":1,"method":"ping"}')).toEqual({ jsonrpc: "2.0", id: 1, method: "ping" });
  });

  test.each([
    ["[]", []],
    ['[{"jsonrpc":"2.0","method":"a"}]', [{ jsonrpc: "2.0", method: "a" }]],
  ])("with the batch %s is read as a list", async (body, messages) => {
    expect(await readBody(body)).toEqual(messages);
  });

  test.each([
    ["", -32700],
    ["{", -32700],
    ["5", -32700],
    ['{"jsonrpc":"1.0"}', -32600],
  ])("of %j is unreadable", async (body, code) => {
    const read = await readBody(body);
    expect(isUnreadable(read) && read.code).toBe(code);
  });
});
