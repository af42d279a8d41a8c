import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

const cost: Cost = { N: 2 ** 15, r: 8, p: 3 };
const size = 32;
/** Nobody's password takes longer than this to look at. */
const maxPassword = 1_024;
const maxMemory = 128 * 1024 * 1024;
const form = /^scrypt\$(\d{1,7})\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9_-]{16,64})\$([A-Za-z0-9_-]{43})$/;
/** What the password of nobody is compared with, so that it takes as long. */
const nobody = `scrypt$${cost.N}$${cost.r}$${cost.p}$${"A".repeat(22)}$${"A".repeat(43)}`;

/** A password as it may be kept in a file of users: scrypt, with its own salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, cost);
  return `scrypt$${cost.N}$${cost.r}$${cost.p}$${salt.toString("base64url")}$${key.toString("base64url")}`;
}

/** Whether a password is the one that was hashed; without a hash it takes as long and says no. */
export async function isPassword(password: string, hash: string | undefined): Promise<boolean> {
  const match = form.exec(hash ?? nobody);
  if (!match || password.length > maxPassword) return false;
  const [, N, r, p, salt = "", key = ""] = match;
  const derived = await derive(password, Buffer.from(salt, "base64url"), { N: Number(N), r: Number(r), p: Number(p) });
  return timingSafeEqual(derived, Buffer.from(key, "base64url")) && hash !== undefined;
}

/** Whether a text is what `hashPassword` gives. */
export function isHash(text: unknown): boolean {
  return typeof text === "string" && form.test(text);
}

function derive(password: string, salt: Buffer, { N, r, p }: Cost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const text = password.normalize("NFKC");
    scrypt(text, salt, size, { N, r, p, maxmem: maxMemory }, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
