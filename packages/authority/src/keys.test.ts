import { createMemoryStorage, randomSecret } from "portolan/storage";
import { expect, test } from "vitest";
import { authorityKeys, publicKeys, signingKeys } from "./keys.ts";
import { Rows } from "./rows.ts";

const issuer = "https://auth.example.com";

test("reads the key of an earlier version, and keeps it beside a new one", async () => {
  const [storage, secrets] = [createMemoryStorage(), [randomSecret()]];
  const rows = await Rows.of(issuer, storage, secrets);
  const jwk = { kty: "EC", crv: "P-256", x: "x", y: "y", d: "private", kid: "old", alg: "ES256", use: "sig" };
  await rows.add(await rows.keyOf("signing-key"), jwk, 60_000);
  expect(await signingKeys(rows)).toEqual([{ jwk }]);
  const keys = await authorityKeys({ issuer, storage, secrets });
  expect(await keys.list()).toEqual([{ id: "old", createdAt: undefined, isNewest: true }]);
  const { id } = await keys.rotate();
  expect((await signingKeys(rows)).map((key) => key.jwk.kid)).toEqual([id, "old"]);
  expect((await publicKeys(rows))[1]).toEqual({ ...jwk, d: undefined });
});

test("keeps at most ten keys", async () => {
  const keys = await authorityKeys({ issuer, storage: createMemoryStorage(), secrets: [randomSecret()] });
  for (let count = 0; count < 9; count += 1) await keys.rotate();
  await expect(keys.rotate()).rejects.toThrow("remove old ones first");
});

test("refuses an option that it does not know", async () => {
  const options = { issuer, storage: createMemoryStorage(), secrets: [randomSecret()], secret: "x" };
  await expect(authorityKeys(options)).rejects.toThrow("unknown option `secret`");
});
