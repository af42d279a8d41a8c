import { calculateJwkThumbprint, compactVerify, EmbeddedJWK, type JWK } from "jose";
import { sha256 } from "../../storage/crypto.ts";
import type { Storage } from "../../storage/storage.ts";
import { signatures } from "./issuers.ts";
import { type Claims, TokenProblem } from "./token-checks.ts";

/** How old a proof may be, and how far in the future by another clock. */
const windowMs = 5 * 60_000;
const maxProof = 8 * 1024;

/** A request that a proof is for. */
export interface Proven {
  readonly method: string;
  readonly url: string;
  readonly token: string;
  readonly claims: Claims;
}

/** Throws unless a proof shows, for the first time, that the sender of this request holds the key of its token (RFC 9449). */
export async function checkProof(
  proof: string | undefined,
  { method, url, token, claims }: Proven,
  storage: Storage,
  now: number,
): Promise<void> {
  if (proof === undefined) throw new TokenProblem("DPoP: expected a proof in this header");
  if (proof.length > maxProof) throw new TokenProblem("DPoP: the proof is too long");
  const { payload, protectedHeader } = await compactVerify(proof, EmbeddedJWK, { algorithms: [...signatures] }).catch(
    (cause) => {
      throw new TokenProblem("DPoP: expected one proof with a signature of its own key", { cause });
    },
  );
  if (protectedHeader.typ !== "dpop+jwt") throw new TokenProblem("DPoP: expected typ dpop+jwt");
  const said = JSON.parse(new TextDecoder().decode(payload)) as Claims;
  if (said["htm"] !== method) throw new TokenProblem("DPoP: the proof is for another method");
  if (withoutQuery(said["htu"]) !== withoutQuery(url)) throw new TokenProblem("DPoP: the proof is for another address");
  const iat = Number(said["iat"]) * 1_000;
  if (!(Math.abs(now - iat) <= windowMs)) throw new TokenProblem("DPoP: the proof is not of now");
  if (said["ath"] !== (await sha256(token))) throw new TokenProblem("DPoP: the proof is for another token");
  const key = await calculateJwkThumbprint(protectedHeader.jwk as JWK);
  const { jkt } = (claims["cnf"] ?? {}) as { jkt?: unknown };
  if (jkt !== key) throw new TokenProblem("DPoP: the token belongs to another key");
  const jti = said["jti"];
  if (typeof jti !== "string" || jti === "") throw new TokenProblem("DPoP: the proof has no jti");
  const used = `mcp/dpop/${key}/${await sha256(jti)}`;
  const isFirst = await storage.kv.set(used, "", { ttlMs: 2 * windowMs, expect: null });
  if (!isFirst) throw new TokenProblem("DPoP: the proof was used before");
}

function withoutQuery(address: unknown): string | undefined {
  if (typeof address !== "string" || !URL.canParse(address)) return undefined;
  const { origin, pathname } = new URL(address);
  return origin + pathname;
}
