import { createHmac, generateKeyPairSync } from "node:crypto";
import { checkOptions, type OptionNames, PortolanError } from "portolan";
import { randomSecret, type Storage } from "portolan/storage";
import { keyLifetimeMs, maxKeyAttempts, maxSigningKeys } from "./limits.ts";
import { type Row, Rows } from "./rows.ts";

/** A key pair as JSON Web Key. The provider's own type would be needed by every user of this package. */
export interface SigningJwk {
  readonly kty: string;
  readonly crv?: string;
  readonly x?: string;
  readonly y?: string;
  /** The private part. */
  readonly d?: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly use?: string;
}

/** One key that signs tokens. */
export interface StoredKey {
  readonly jwk: SigningJwk;
  /** Milliseconds since the epoch. Absent for a key of an earlier version. */
  readonly createdAt?: number;
}

/** The keys that sign tokens, newest first. The newest one signs; the others are published until they are removed. */
interface KeyRing {
  readonly keys: readonly StoredKey[];
}

/** Returns the signing keys, newest first: the first one is created once, then the same in every process. */
export async function signingKeys(rows: Rows): Promise<readonly StoredKey[]> {
  return toRing(await once<KeyRing | SigningJwk>(rows, "signing-key", async () => ({ keys: [createKey()] }))).keys;
}

/** Returns the public parts of the signing keys as they are stored now, also after another process changed them. */
export async function publicKeys(rows: Rows): Promise<SigningJwk[]> {
  return (await signingKeys(rows)).map(({ jwk: { kty, crv, x, y, kid, alg, use } }) => ({
    kty,
    ...(crv !== undefined && { crv }),
    ...(x !== undefined && { x }),
    ...(y !== undefined && { y }),
    ...(kid !== undefined && { kid }),
    ...(alg !== undefined && { alg }),
    ...(use !== undefined && { use }),
  }));
}

function createKey(): StoredKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = privateKey.export({ format: "jwk" }) as SigningJwk;
  return { jwk: { ...jwk, kid: randomSecret().slice(0, 16), alg: "ES256", use: "sig" }, createdAt: Date.now() };
}

/** Reads the row of an earlier version too, which was one key. */
function toRing(stored: KeyRing | SigningJwk): KeyRing {
  return "keys" in stored ? (stored as KeyRing) : { keys: [{ jwk: stored as SigningJwk }] };
}

/** A signing key as operators see it. */
export interface SigningKey {
  /** The `kid` in the header of the tokens that it signs. */
  readonly id: string;
  readonly createdAt: Date | undefined;
  /** Authorities that start from now on sign with this key. */
  readonly isNewest: boolean;
}

/** The signing keys of an authority, in its storage. */
export interface KeyManager {
  /** Lists the keys, newest first. */
  list(): Promise<readonly SigningKey[]>;
  /** Adds a key. Every running authority publishes it at once, and signs with it after its next start. */
  rotate(): Promise<SigningKey>;
  /** Removes a key that is not the newest. Tokens that it signed are refused once servers have forgotten the key. */
  remove(id: string): Promise<void>;
}

/** Where the keys of an authority are: the same values as in `createAuthority`. */
export interface KeyManagerOptions {
  /** The identifier of the authority. */
  readonly issuer: string;
  /** Where the keys are stored, sealed. */
  readonly storage: Storage;
  /** The newest first. */
  readonly secrets: readonly string[];
}

const optionNames: OptionNames<KeyManagerOptions> = { issuer: 1, storage: 1, secrets: 1 };

/** Manages the signing keys of an authority, from any process with its storage. */
export async function authorityKeys(options: KeyManagerOptions): Promise<KeyManager> {
  checkOptions(options, optionNames, "authorityKeys");
  const { issuer, storage, secrets } = options;
  const rows = await Rows.of(issuer, storage, secrets);
  const list = async () => (await signingKeys(rows)).map(toSigningKey);
  return {
    list,
    async rotate() {
      const added = createKey();
      await change(rows, (keys) => {
        if (keys.length >= maxSigningKeys) {
          throw new PortolanError("limit-reached", `expected at most ${maxSigningKeys} keys; remove old ones first`);
        }
        return [added, ...keys];
      });
      return toSigningKey(added, 0);
    },
    remove: (id) =>
      change(rows, (keys) => {
        const [newest] = keys;
        if (newest?.jwk.kid === id) {
          throw new PortolanError("invalid-argument", `${id} is the newest key; add another one before you remove it`);
        }
        const kept = keys.filter(({ jwk }) => jwk.kid !== id);
        if (kept.length === keys.length) throw new PortolanError("invalid-argument", `there is no key ${id}`);
        return kept;
      }),
  };
}

function toSigningKey({ jwk, createdAt }: StoredKey, at: number): SigningKey {
  return {
    id: jwk.kid ?? "",
    createdAt: createdAt === undefined ? undefined : new Date(createdAt),
    isNewest: at === 0,
  };
}

/** Changes the keys, although other processes may do so at the same time. */
async function change(rows: Rows, to: (keys: readonly StoredKey[]) => readonly StoredKey[]): Promise<void> {
  for (let attempt = 0; attempt < maxKeyAttempts; attempt += 1) {
    await signingKeys(rows);
    const row: Row<KeyRing | SigningJwk> | undefined = await rows.read(await rows.keyOf("signing-key"));
    if (row && (await row.replace({ keys: to(toRing(row.value).keys) }, keyLifetimeMs))) return;
  }
  throw new PortolanError("store-failed", "The signing keys are being changed by other processes; try again");
}

/** Seals what outlives every secret with the first one, so that it can be opened after an old secret is removed. */
export async function resealKeys(rows: Rows): Promise<void> {
  for (const kind of ["signing-key", "introspection-secret"]) {
    const row = await rows.read(await rows.keyOf(kind));
    if (row && !row.isSealedWithFirst) await row.replace(row.value, keyLifetimeMs);
  }
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
