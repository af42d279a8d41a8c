import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, createSealer, parseBase64url, randomSecret, sha256, toBase64url } from "./crypto.ts";

const [secretA, secretB] = ["first secret, thirty-two characters", "other secret, thirty-two characters"];
const options = { purpose: "request-state", binding: "ada tools/call digest", ttlMs: 1_000 };

test("opens what it sealed, for any text", async () => {
  const sealer = createSealer({ secrets: [secretA] });
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.json(), fc.constantFrom("", "\uFEFFmark", "\0", "🗺"));
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      expect(await sealer.open(await sealer.seal(value, options), options)).toEqual({ ok: true, value });
    }),
  );
});

test("writes a version and base64url, and hides the value", async () => {
  const sealer = createSealer({ secrets: [secretA] });
  const sealed = await sealer.seal("the plain value", options);
  expect(sealed).toMatch(/^v1\.[A-Za-z0-9_-]+$/);
  expect(atob(sealed.slice(3).replaceAll("-", "+").replaceAll("_", "/"))).not.toContain("plain");
  expect(await sealer.seal("the plain value", options)).not.toBe(sealed);
});

test("refuses a text with one changed bit", async () => {
  const sealer = createSealer({ secrets: [secretA] });
  // Three lengths, so that the last base64url character carries 0, 2 and 4 unused bits.
  for (const value of ["state", "state1", "state12"]) {
    const sealed = await sealer.seal(value, options);
    for (let at = 0; at < sealed.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const flipped = String.fromCharCode(sealed.charCodeAt(at) ^ (1 << bit));
        const opened = await sealer.open(sealed.slice(0, at) + flipped + sealed.slice(at + 1), options);
        expect(opened, `bit ${bit} of character ${at}`).toMatchObject({ ok: false });
      }
    }
  }
});

test("refuses a text with one changed character", async () => {
  const sealer = createSealer({ secrets: [secretA] });
  const sealed = await sealer.seal("state1", options);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (let at = sealed.length - 3; at < sealed.length; at += 1) {
    for (const other of alphabet) {
      if (other === sealed[at]) continue;
      expect(await sealer.open(sealed.slice(0, at) + other + sealed.slice(at + 1), options)).toMatchObject({
        ok: false,
      });
    }
  }
});

test("refuses another purpose and another binding", async () => {
  const sealer = createSealer({ secrets: [secretA] });
  const sealed = await sealer.seal("state", options);
  const tampered = { ok: false, reason: "tampered" };
  expect(await sealer.open(sealed, { ...options, purpose: "cursor" })).toEqual(tampered);
  expect(await sealer.open(sealed, { ...options, binding: "eve tools/call digest" })).toEqual(tampered);
  const moved = { purpose: `${options.purpose}","x`, binding: options.binding };
  expect(await sealer.open(sealed, moved)).toEqual(tampered);
  expect(await sealer.open(sealed, options)).toEqual({ ok: true, value: "state" });
});

test("opens a text until its time to live is over", async () => {
  let time = 5_000;
  const sealer = createSealer({ secrets: [secretA], now: () => time });
  const sealed = await sealer.seal("state", options);
  time += 999;
  expect(await sealer.open(sealed, options)).toEqual({ ok: true, value: "state" });
  time += 1;
  expect(await sealer.open(sealed, options)).toEqual({ ok: false, reason: "expired" });
});

describe("rotation", () => {
  test("seals with the first secret and opens with all", async () => {
    const old = await createSealer({ secrets: [secretA] }).seal("state", options);
    const rotated = createSealer({ secrets: [secretB, secretA] });
    expect(await rotated.open(old, options)).toEqual({ ok: true, value: "state" });
    const fresh = await rotated.seal("state", options);
    expect(await createSealer({ secrets: [secretB] }).open(fresh, options)).toEqual({ ok: true, value: "state" });
  });

  test("does not open texts of a removed secret", async () => {
    const old = await createSealer({ secrets: [secretA] }).seal("state", options);
    expect(await createSealer({ secrets: [secretB] }).open(old, options)).toEqual({ ok: false, reason: "unknown-key" });
  });

  test("refuses the text of one key with the id of another", async () => {
    const [a, b] = [createSealer({ secrets: [secretA] }), createSealer({ secrets: [secretB] })];
    const [sealedA, sealedB] = [await a.seal("state", options), await b.seal("state", options)];
    const mixed = sealedA.slice(0, 11) + sealedB.slice(11);
    const both = createSealer({ secrets: [secretA, secretB] });
    expect(await both.open(mixed, options)).toEqual({ ok: false, reason: "tampered" });
  });

  test("copies a secret of bytes", async () => {
    const bytes = new Uint8Array(32).fill(7);
    const sealer = createSealer({ secrets: [bytes] });
    bytes.fill(0);
    const sealed = await sealer.seal("state", options);
    const twin = createSealer({ secrets: [new Uint8Array(32).fill(7)] });
    expect(await twin.open(sealed, options)).toEqual({ ok: true, value: "state" });
  });
});

describe("refuses hostile text without throwing", () => {
  const sealer = createSealer({ secrets: [secretA] });

  test("every truncation", async () => {
    const sealed = await sealer.seal("state", options);
    for (let length = 0; length < sealed.length; length += 1) {
      expect(await sealer.open(sealed.slice(0, length), options)).toMatchObject({ ok: false });
    }
    expect(await sealer.open(`${sealed}A`, options)).toMatchObject({ ok: false });
    expect(await sealer.open(`${sealed}AAAA`, options)).toMatchObject({ ok: false });
  });

  test("garbage", async () => {
    const garbage = fc.oneof(fc.string({ unit: "binary" }), fc.base64String(), fc.string({ unit: "grapheme" }));
    await fc.assert(
      fc.asyncProperty(garbage, fc.constantFrom("", "v1.", "v2."), async (text, prefix) => {
        expect(await sealer.open(prefix + text, options)).toMatchObject({ ok: false });
      }),
    );
  });

  test("huge text", async () => {
    const malformed = { ok: false, reason: "malformed" };
    expect(await sealer.open("A".repeat(20_000_000), options)).toEqual(malformed);
    expect(await sealer.open(`v1.${"A".repeat(20_000_000)}`, options)).toEqual(malformed);
    expect(await sealer.open(`v1.${"A".repeat(1_000_000)}`, options)).toEqual({ ok: false, reason: "unknown-key" });
  });
});

describe("refuses invalid arguments with a reason", () => {
  test("short secrets and no secret at all", () => {
    const refused = (secrets: (string | Uint8Array)[]) => () => createSealer({ secrets });
    expect(refused([])).toThrow("expected at least one secret");
    expect(refused([secretA, "short"])).toThrow("Secret 2 of 2: expected at least 32 characters, got 5");
    expect(refused([new Uint8Array(31)])).toThrow("Secret 1 of 1: expected at least 32 bytes, got 31");
    expect(refused(["x".repeat(31)])).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    expect(refused(["x".repeat(32), new Uint8Array(32)])).not.toThrow();
  });

  test("an endless ttl, half a surrogate pair, and too much text", async () => {
    const sealer = createSealer({ secrets: [secretA] });
    for (const ttlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(sealer.seal("state", { ...options, ttlMs })).rejects.toMatchObject({ code: "invalid-argument" });
    }
    await expect(sealer.seal("a\uD800b", options)).rejects.toMatchObject({ code: "invalid-argument" });
    await expect(sealer.seal("x".repeat(1_000_000), options)).rejects.toMatchObject({ code: "limit-reached" });
  });
});

test("makes secrets that are long enough and differ", () => {
  expect(randomSecret()).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(randomSecret()).not.toBe(randomSecret());
  expect(() => createSealer({ secrets: [randomSecret()] })).not.toThrow();
});

test("refuses unknown options", () => {
  const misspelt = { secrets: [secretA], secret: secretA };
  expect(() => createSealer(misspelt)).toThrow("createSealer: unknown option `secret`; did you mean `secrets`?");
});

describe("canonicalJson", () => {
  test("sorts members at every level, but not arrays", () => {
    const value = { b: [3, { z: 1, y: 2 }], a: null, "10": 1, "9": 2, é: "x", Z: true };
    expect(canonicalJson(value)).toBe('{"10":1,"9":2,"Z":true,"a":null,"b":[3,{"y":2,"z":1}],"é":"x"}');
  });

  test("omits undefined in objects and writes null in arrays, as JSON does", () => {
    expect(canonicalJson({ a: undefined, b: [undefined, () => 1], c: () => 1, d: Number.NaN })).toBe(
      '{"b":[null,null],"d":null}',
    );
  });

  test("calls toJSON", () => {
    expect(canonicalJson({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  });

  test("includes a member named __proto__", () => {
    expect(canonicalJson(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}');
  });

  test("parses to the same value, and does not depend on the order of members", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reversed(value))).toBe(text);
      }),
    );
  });

  test("refuses values without a JSON form, with a reason", () => {
    expect(() => canonicalJson(undefined)).toThrow(expect.objectContaining({ code: "unserializable" }));
    expect(() => canonicalJson({ a: 1n })).toThrow(expect.objectContaining({ code: "unserializable" }));
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(() => canonicalJson(cycle)).toThrow(expect.objectContaining({ code: "limit-reached" }));
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
    expect(() => canonicalJson(deep)).toThrow(expect.objectContaining({ code: "limit-reached" }));
  });
});

test("returns known SHA-256 digests as base64url", async () => {
  expect(await sha256("")).toBe("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
  expect(await sha256("abc")).toBe("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
});

function reversed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  const members = Object.entries(value).map(([name, item]) => [name, reversed(item)]);
  return Object.fromEntries(members.reverse());
}

test("encodes base64url as Node does, and decodes it", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = toBase64url(bytes);
      expect(text).toBe(Buffer.from(bytes).toString("base64url"));
      expect(parseBase64url(text)).toEqual(Uint8Array.from(bytes));
    }),
  );
});

test("decodes only canonical base64url", () => {
  fc.assert(
    fc.property(fc.oneof(fc.base64String(), fc.string({ unit: "binary" }), fc.stringMatching(/^[\w-]*$/)), (text) => {
      const bytes = parseBase64url(text);
      if (bytes !== undefined) expect(toBase64url(bytes)).toBe(text);
    }),
  );
  for (const text of ["A", "AB", "AAB", "AA==", "A+/A", "AAA\u0100", "é", "AAA "]) {
    expect(parseBase64url(text)).toBeUndefined();
  }
});
