import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from "jose";
import { onTestFinished } from "vitest";

export interface Made {
  readonly claims?: { readonly [claim: string]: unknown };
  readonly header?: Partial<JWTHeaderParameters>;
  readonly key?: CryptoKey | Uint8Array;
  readonly algorithm?: string;
}

/** An authorization server with its own keys and metadata, which issues any token that a test needs. */
export class TestIssuer {
  readonly url: string;
  readonly resource: string;
  /** The requests it received. */
  readonly asked: string[] = [];
  /** Its introspection results, by token. */
  readonly opaque = new Map<string, object>();
  readonly #keys: JWK[];
  #key: CryptoKey;
  #kid = "one";

  private constructor(url: string, resource: string, key: CryptoKey, keys: JWK[]) {
    this.url = url;
    this.resource = resource;
    this.#key = key;
    this.#keys = keys;
  }

  static async start(resource: string): Promise<TestIssuer> {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const keys = [{ ...(await exportJWK(publicKey)), kid: "one", alg: "ES256" }];
    let issuer: TestIssuer | undefined;
    const server = createServer(async (request, response) => {
      const path = request.url ?? "";
      issuer?.asked.push(path);
      const body = await text(request);
      const found = issuer?.answer(path, body, request.headers.authorization);
      response.writeHead(found ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(found ?? {}));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    issuer = new TestIssuer(url, resource, privateKey, keys);
    return issuer;
  }

  answer(path: string, body: string, authorization: string | undefined): object | undefined {
    if (path === "/.well-known/openid-configuration") return { issuer: this.url, jwks_uri: `${this.url}/keys` };
    if (path === "/keys") return { keys: this.#keys };
    if (path !== "/introspect" || authorization !== `Basic ${btoa("server:s%3Acret")}`) return undefined;
    return this.opaque.get(new URLSearchParams(body).get("token") ?? "") ?? { active: false };
  }

  /** Signs with another key from now on. */
  async rotate(): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    this.#kid = "two";
    this.#key = privateKey;
    this.#keys.splice(0, 1, { ...(await exportJWK(publicKey)), kid: "two", alg: "ES256" });
  }

  claims(more: object = {}): { readonly [claim: string]: unknown } {
    const now = Math.floor(Date.now() / 1_000);
    const base = { iss: this.url, aud: this.resource, sub: "ada", client_id: "app", scope: "read" };
    return { ...base, iat: now, exp: now + 600, ...more };
  }

  token({ claims = {}, header = {}, key = this.#key, algorithm = "ES256" }: Made = {}): Promise<string> {
    return new SignJWT(this.claims(claims) as { [claim: string]: unknown })
      .setProtectedHeader({ alg: algorithm, kid: this.#kid, typ: "at+jwt", ...header })
      .sign(key);
  }

  /** Signs with its public key as a shared secret, as an attacker would. */
  async publicKeyAsSecret(): Promise<Uint8Array> {
    const publicKey = (await importJWK(this.#keys[0] as JWK, "ES256")) as CryptoKey;
    return new TextEncoder().encode(await exportSPKI(publicKey));
  }
}

export interface ProofOptions {
  readonly method: string;
  readonly url: string;
  readonly token: string;
  readonly claims?: object;
  readonly header?: Partial<JWTHeaderParameters>;
}

/** A client with a key that its tokens are bound to. */
export class KeyHolder {
  readonly #key: CryptoKey;
  readonly #jwk: JWK;
  readonly thumbprint: string;

  private constructor(key: CryptoKey, jwk: JWK, thumbprint: string) {
    this.#key = key;
    this.#jwk = jwk;
    this.thumbprint = thumbprint;
  }

  static async create(): Promise<KeyHolder> {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const jwk = await exportJWK(publicKey);
    return new KeyHolder(privateKey, jwk, await calculateJwkThumbprint(jwk));
  }

  async proof({ method, url, token, claims = {}, header = {} }: ProofOptions): Promise<string> {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
    const ath = Buffer.from(digest).toString("base64url");
    return new SignJWT({
      htm: method,
      htu: url,
      ath,
      jti: crypto.randomUUID(),
      iat: Math.floor(Date.now() / 1_000),
      ...claims,
    })
      .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk: this.#jwk, ...header })
      .sign(this.#key);
  }
}
