import { EmbeddedJWK, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { createKey, loadKey } from "./dpop.ts";

const request = {
  method: "POST",
  url: new URL("https://mcp.example/mcp?secret=1#x"),
  token: "token",
  now: 1_700_000_000_999,
};

test("a proof names the method, the URL without its query, and the digest of the token", async () => {
  const proof = await (await loadKey(await createKey())).prove({ ...request, nonce: "n" });
  const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("token"));
  expect(protectedHeader).toMatchObject({ typ: "dpop+jwt", alg: "ES256" });
  expect(protectedHeader.jwk).not.toHaveProperty("d");
  expect(payload).toMatchObject({
    htm: "POST",
    htu: "https://mcp.example/mcp",
    ath: Buffer.from(digest).toString("base64url"),
    nonce: "n",
    iat: 1_700_000_000,
  });
});

test("two proofs have different ids, and none has a nonce without being asked", async () => {
  const key = await loadKey(await createKey());
  const proofs = await Promise.all([1, 2].map(() => key.prove({ ...request, nonce: undefined })));
  const claims = await Promise.all(proofs.map(async (proof) => (await jwtVerify(proof, EmbeddedJWK)).payload));
  expect(claims[0]?.jti).not.toBe(claims[1]?.jti);
  expect(claims[0]).not.toHaveProperty("nonce");
});
