import { expect, test } from "vitest";
import { hashPassword, isHash, isPassword } from "./passwords.ts";

// scrypt is slow on purpose.
const patienceMs = 30_000;

test(
  "verifies a password in either Unicode normalization",
  async () => {
    const hash = await hashPassword("na\u00efve");
    expect(isHash(hash)).toBe(true);
    expect(hash).not.toContain("na\u00efve");
    expect(await isPassword("nai\u0308ve", hash)).toBe(true);
    expect(await isPassword("naive", hash)).toBe(false);
    expect(await hashPassword("na\u00efve")).not.toBe(hash);
  },
  patienceMs,
);

test(
  "refuses every password without a hash, or with an invalid one",
  async () => {
    expect(await isPassword("x", undefined)).toBe(false);
    expect(await isPassword("x", "x")).toBe(false);
    expect(isHash("scrypt$1$1$1$short$short")).toBe(false);
  },
  patienceMs,
);
