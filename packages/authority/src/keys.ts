import { createHmac, generateKeyPairSync } from "node:crypto";
import type { JWK } from "oidc-provider";
import { PortolanError } from "portolan";
import { randomSecret } from "portolan/storage";
import { keyLifetimeMs } from "./limits.ts";
import type { Rows } from "./rows.ts";

/** Returns the signing key: created once, then the same in every process. */
export async function signingKey(rows: Rows): Promise<JWK> {
  return once(rows, "signing-key", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwk = privateKey.export({ format: "jwk" }) as JWK;
    return { ...jwk, kid: randomSecret().slice(0, 16), alg: "ES256", use: "sig" };
  });
}

/** Returns the secret for introspection: generated once, then the same in every process. */
export async function introspectionSecret(rows: Rows): Promise<string> {
  return once(rows, "introspection-secret", async () => randomSecret());
}

async function once<T>(rows: Rows, kind: string, make: () => Promise<T>): Promise<T> {
  const key = await rows.keyOf(kind);
  const known = await rows.get<T>(key);
  if (known !== undefined) return known;
  const made = await make();
  if (await rows.add(key, made, keyLifetimeMs)) return made;
  const other = await rows.get<T>(key);
  if (other !== undefined) return other;
  throw new PortolanError("invalid-argument", `secrets: none opens the stored ${kind}; add the one that sealed it`);
}

/** Derives a key for one purpose from each secret, newest first. */
export function derivedKeys(secrets: readonly string[], purpose: string): string[] {
  return secrets.map((secret) => createHmac("sha256", secret).update(`authority ${purpose}`).digest("base64url"));
}
