import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import { sha256 } from "../../storage/crypto.ts";
import type { Jwk } from "./grants.ts";

const algorithm = "ES256";

/** A key that tokens are bound to (RFC 9449). */
export interface DpopKey {
  readonly pair: CryptoKeyPair;
  /** Returns a proof for one request with one token. */
  prove(request: ProofInput): Promise<string>;
}

/** The request that a proof is for. */
export interface ProofInput {
  readonly method: string;
  readonly url: URL;
  readonly token: string;
  readonly nonce: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Creates a key, in the form in which it is stored. */
export async function createKey(): Promise<Jwk> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  return exportJWK(privateKey) as Promise<Jwk>;
}

/** Imports a stored key. */
export async function loadKey(jwk: Jwk): Promise<DpopKey> {
  const { d: _private, ...rest } = jwk;
  const publicJwk = { kty: rest.kty, crv: rest.crv, x: rest.x, y: rest.y } as JWK;
  const privateKey = (await importJWK(jwk as JWK, algorithm)) as CryptoKey;
  const publicKey = (await importJWK(publicJwk, algorithm, { extractable: true })) as CryptoKey;
  return {
    pair: { privateKey, publicKey },
    async prove({ method, url, token, nonce, now }) {
      const claims = {
        jti: crypto.randomUUID(),
        htm: method,
        htu: url.origin + url.pathname,
        ath: await sha256(token),
        ...(nonce !== undefined && { nonce }),
      };
      return new SignJWT(claims)
        .setProtectedHeader({ alg: algorithm, typ: "dpop+jwt", jwk: publicJwk })
        .setIssuedAt(Math.floor(now / 1_000))
        .sign(privateKey);
    },
  };
}
