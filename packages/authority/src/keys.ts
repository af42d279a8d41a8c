import { createHmac, generateKeyPairSync } from "node:crypto";
import type { JWK } from "oidc-provider";
import { PortolanError } from "portolan";
import { randomSecret } from "portolan/storage";
import type { Rows } from "./rows.ts";

/** The keys outlast what they sign; they go when their row is deleted. */
const keysMs = 10 * 365 * 24 * 3_600_000;

/** The signing key of an authority: made once, then the same in every process. */
export async function signingKey(rows: Rows): Promise<JWK> {
  return once(rows, "signing-key", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwk = privateKey.export({ format: "jwk" }) as JWK;
    return { ...jwk, kid: randomSecret().slice(0, 16), alg: "ES256", use: "sig" };
  });
}

/** What servers ask about opaque tokens with, unless the operator has said. */
export async function introspectionSecret(rows: Rows): Promise<string> {
  return once(rows, "introspection-secret", async () => randomSecret());
}

async function once<T>(rows: Rows, kind: string, make: () => Promise<T>): Promise<T> {
  const key = await rows.keyOf(kind);
  const known = await rows.get<T>(key);
  if (known !== undefined) return known;
  const made = await make();
  if (await rows.add(key, made, keysMs)) return made;
  const other = await rows.get<T>(key);
  if (other !== undefined) return other;
  throw new PortolanError(
    "invalid-argument",
    `secrets: none opens the ${kind} that is kept; add the one that sealed it`,
  );
}

/** A key for one purpose from each secret, the newest first. */
export function derivedKeys(secrets: readonly string[], purpose: string): string[] {
  return secrets.map((secret) => createHmac("sha256", secret).update(`authority ${purpose}`).digest("base64url"));
}
