import { expect, test } from "vitest";
import { hashPassword, isHash, isPassword } from "./passwords.ts";

// Each takes as long as it takes to be hard to guess.
const patienceMs = 30_000;

test(
  "a password is known again by its hash, in whichever form it was typed",
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
  "nothing is the password of nobody, or of something that is no hash",
  async () => {
    expect(await isPassword("x", undefined)).toBe(false);
    expect(await isPassword("x", "x")).toBe(false);
    expect(isHash("scrypt$1$1$1$short$short")).toBe(false);
  },
  patienceMs,
);
