import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { maxPasswordChars } from "./limits.ts";

interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

const cost: Cost = { N: 2 ** 15, r: 8, p: 3 };
const size = 32;
const maxMemory = 128 * 1024 * 1024;
const form = /^scrypt\$(\d{1,7})\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9_-]{16,64})\$([A-Za-z0-9_-]{43})$/;
/** Compared with when the user is unknown, so that it takes equally long. */
const nobody = `scrypt$${cost.N}$${cost.r}$${cost.p}$${"A".repeat(22)}$${"A".repeat(43)}`;

/** Hashes a password for a file of users, by scrypt with a random salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, cost);
  return `scrypt$${cost.N}$${cost.r}$${cost.p}$${salt.toString("base64url")}$${key.toString("base64url")}`;
}

/** Resolves to true if the password has this hash. Without a hash it takes equally long and resolves to false. */
export async function isPassword(password: string, hash: string | undefined): Promise<boolean> {
  const match = form.exec(hash ?? nobody);
  if (!match || password.length > maxPasswordChars) return false;
  const [, N, r, p, salt = "", key = ""] = match;
  const derived = await derive(password, Buffer.from(salt, "base64url"), { N: Number(N), r: Number(r), p: Number(p) });
  return timingSafeEqual(derived, Buffer.from(key, "base64url")) && hash !== undefined;
}

/** True if a text has the format of `hashPassword`. */
export function isHash(text: unknown): boolean {
  return typeof text === "string" && form.test(text);
}

function derive(password: string, salt: Buffer, { N, r, p }: Cost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const text = password.normalize("NFKC");
    scrypt(text, salt, size, { N, r, p, maxmem: maxMemory }, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
