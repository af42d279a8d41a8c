import { importJWK, importPKCS8, type JWK } from "jose";
import { type ClientAuth, PrivateKeyJwt } from "oauth4webapi";
import type { SafeFetch } from "../../net/policy.ts";
import { checkOptions } from "../../options.ts";
import type { RegisteredClient } from "./credential.ts";
import { type Authority, findAuthority } from "./discovery.ts";
import { type GrantedToken, requestToken, type TokenRequest } from "./tokens.ts";

/** Gets tokens in the program's own name, without a person who signs in. */
export interface MachineGrant {
  /** The issuer that the credentials are for. Default: the first one that they are used with. */
  readonly issuer?: string | undefined;
  /** The client that the credentials belong to. */
  readonly clientId: string;
  /** URLs in the configuration of the grant; their hosts may be private. */
  readonly addresses?: readonly string[];
  request(context: MachineGrantContext): Promise<{ readonly token: GrantedToken; readonly client: RegisteredClient }>;
}

export interface MachineGrantContext {
  readonly authority: Authority;
  readonly resource: string | undefined;
  readonly scopes: readonly string[];
  readonly key: Jwk | undefined;
  readonly fetch: SafeFetch;
  readonly signal: AbortSignal;
}

/** A JSON Web Key. Declared here, because `JsonWebKey` of TypeScript is in the library "dom" only. */
export interface Jwk {
  kty?: string;
  alg?: string;
  kid?: string;
  use?: string;
  crv?: string;
  x?: string;
  y?: string;
  d?: string;
  n?: string;
  e?: string;
  p?: string;
  q?: string;
  dp?: string;
  dq?: string;
  qi?: string;
  k?: string;
  ext?: boolean;
  key_ops?: string[];
}

interface ClientIdentity {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly issuer?: string;
}

const identityNames = { clientId: 1, clientSecret: 1, issuer: 1 } as const;

/** Options of `clientCredentials`. It needs a secret or a private key. */
export type ClientCredentialsOptions = ClientIdentity & {
  /** A key instead of a secret, as PKCS #8 PEM or as JWK; the authorization server has its public key. */
  readonly privateKey?: string | Jwk;
  /** The algorithm of the key. Default: that of the JWK, else ES256. */
  readonly algorithm?: string;
  /** The `kid` in the header of its signatures. Default: that of the JWK. */
  readonly keyId?: string;
};

/** Requests tokens by the client credentials grant, with a secret or a private key. */
export function clientCredentials(options: ClientCredentialsOptions): MachineGrant {
  checkOptions(options, { ...identityNames, privateKey: 1, algorithm: 1, keyId: 1 }, "clientCredentials");
  let signer: Promise<ClientAuth> | undefined;
  return {
    issuer: options.issuer,
    clientId: options.clientId,
    async request(context) {
      signer ??= options.privateKey === undefined ? undefined : signerOf(options.privateKey, options);
      const client: RegisteredClient =
        options.privateKey === undefined
          ? secretClient(options, context.authority)
          : { clientId: options.clientId, method: "private_key_jwt", isDynamic: false };
      const token = await requestToken(
        { ...toRequest(context, client), clientAuth: await signer },
        "client_credentials",
        {
          resource: context.resource,
          scope: scopeOf(context),
        },
      );
      return { token, client };
    },
  };
}

/** Options of `workloadIdentity`. */
export type WorkloadOptions = ClientIdentity & {
  /** The token that the platform issued to this workload. */
  readonly assertion: string | (() => string | Promise<string>);
};

/** Exchanges a token of the platform for one of the server. There is one attempt and no fallback. */
export function workloadIdentity(options: WorkloadOptions): MachineGrant {
  checkOptions(options, { ...identityNames, assertion: 1 }, "workloadIdentity");
  return {
    issuer: options.issuer,
    clientId: options.clientId,
    async request(context) {
      const client = secretClient(options, context.authority);
      const token = await exchangeAssertion(context, client, await resolveValue(options.assertion));
      return { token, client };
    },
  };
}

/** Options of `enterpriseManaged`. */
export type EnterpriseOptions = ClientIdentity & {
  /** The identity provider where the person has signed in, and its ID token. */
  readonly identityProvider: ClientIdentity & {
    readonly issuer: string;
    /** Default: the one in its metadata. */
    readonly tokenEndpoint?: string;
    readonly idToken: string | (() => string | Promise<string>);
  };
};

/** Gets tokens through a company's identity provider, which asserts who the person is (ID-JAG). */
export function enterpriseManaged(options: EnterpriseOptions): MachineGrant {
  checkOptions(options, { ...identityNames, identityProvider: 1 }, "enterpriseManaged");
  const { identityProvider } = options;
  return {
    issuer: options.issuer,
    clientId: options.clientId,
    addresses: [identityProvider.issuer, ...(identityProvider.tokenEndpoint ? [identityProvider.tokenEndpoint] : [])],
    async request(context) {
      const authority = await identityAuthority(identityProvider, context.fetch);
      const known = secretClient(identityProvider, authority);
      const { accessToken: assertion } = await requestToken(
        { ...toRequest(context, known), authority, key: undefined, isAssertion: true },
        "urn:ietf:params:oauth:grant-type:token-exchange",
        {
          requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
          subject_token: await resolveValue(identityProvider.idToken),
          subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
          audience: context.authority.metadata.issuer,
          resource: context.resource,
          scope: scopeOf(context),
        },
      );
      const client = secretClient(options, context.authority);
      return { token: await exchangeAssertion(context, client, assertion), client };
    },
  };
}

async function identityAuthority(
  { issuer, tokenEndpoint }: EnterpriseOptions["identityProvider"],
  fetch: SafeFetch,
): Promise<Authority> {
  if (tokenEndpoint === undefined) return findAuthority(issuer, fetch);
  return { issuer, metadata: { issuer, token_endpoint: tokenEndpoint }, isGuessed: false };
}

function exchangeAssertion(
  context: MachineGrantContext,
  client: RegisteredClient,
  assertion: string,
): Promise<GrantedToken> {
  return requestToken(toRequest(context, client), "urn:ietf:params:oauth:grant-type:jwt-bearer", {
    assertion,
    resource: context.resource,
    scope: scopeOf(context),
  });
}

function toRequest({ authority, key, fetch, signal }: MachineGrantContext, client: RegisteredClient): TokenRequest {
  return { authority, client, key, fetch, signal };
}

function secretClient({ clientId, clientSecret }: ClientIdentity, { metadata }: Authority): RegisteredClient {
  if (clientSecret === undefined) return { clientId, method: "none", isDynamic: false };
  const offered = metadata.token_endpoint_auth_methods_supported;
  const isPosted = offered?.includes("client_secret_post") && !offered.includes("client_secret_basic");
  return { clientId, clientSecret, method: isPosted ? "client_secret_post" : "client_secret_basic", isDynamic: false };
}

async function signerOf(
  key: string | Jwk,
  { algorithm, keyId }: Pick<ClientCredentialsOptions, "algorithm" | "keyId">,
): Promise<ClientAuth> {
  const alg = algorithm ?? (typeof key === "string" ? undefined : key.alg) ?? "ES256";
  const privateKey = typeof key === "string" ? await importPKCS8(key, alg) : await importJWK(key as JWK, alg);
  const kid = keyId ?? (typeof key === "string" ? undefined : (key as JWK).kid);
  return PrivateKeyJwt({ key: privateKey as CryptoKey, ...(kid !== undefined && { kid }) });
}

function scopeOf({ scopes }: MachineGrantContext): string | undefined {
  return scopes.length > 0 ? scopes.join(" ") : undefined;
}

async function resolveValue(value: string | (() => string | Promise<string>)): Promise<string> {
  return typeof value === "string" ? value : value();
}
