import type { IncomingMessage } from "node:http";
import { checkOptions, type OptionNames, PortolanError } from "portolan";
import type { FetchPolicy } from "portolan/net";
import type { Storage } from "portolan/storage";
import { isLoopback, redirectProblem } from "./clients.ts";
import { type UpstreamOptions, upstream } from "./upstream/options.ts";
import type { SignIn } from "./users.ts";

/** An MCP server that tokens are issued for. */
export interface ProtectedResource {
  /** Its URL, exactly as in `protect` and in its clients. */
  readonly resource: string;
  /** The name that people see. Default: its host. */
  readonly name?: string;
  /** Each scope with a description that a person can decide on. */
  readonly scopes: { readonly [scope: string]: string };
  /** Scopes to request when the client names none. Default: all. */
  readonly defaultScopes?: readonly string[];
}

/** A client that the operator has registered. */
export interface KnownClient {
  readonly clientId: string;
  /** Without one the client is public and authenticates by PKCE alone. */
  readonly clientSecret?: string;
  readonly redirectUris: readonly string[];
  readonly name?: string;
}

/** Which clients may register themselves. */
export interface RegistrationOptions {
  /** Allows dynamic client registration (RFC 7591). Default: false. */
  readonly dynamic?: boolean;
  /** Accepts the URL of a client metadata document as client id; an object also sets how it is fetched. Default: true. */
  readonly metadataDocuments?: boolean | FetchPolicy;
  /** Redirect schemes of apps, such as `cursor`, that are not a reversed domain name but may receive a code. */
  readonly privateSchemes?: readonly string[];
  /** Dynamic registrations per IP address and hour. Default: 20. */
  readonly perHour?: number;
}

/** Options of `createAuthority`. */
export interface AuthorityOptions {
  /** Its identifier, exactly as in metadata and tokens: https, or http on loopback. It may have a path. */
  readonly issuer: string;
  /** The name that people see. */
  readonly name: string;
  /** The servers that tokens are issued for, and their scopes. */
  readonly resources: readonly ProtectedResource[];
  /** How people sign in. */
  readonly signIn: SignIn;
  /**
   * Services where people connect accounts of their own, for `authority.accountsAt`: each with a name for addresses, such as
   * `github`. Register `<issuer>/connect/<name>/callback` as redirect URI there.
   */
  readonly services?: { readonly [name: string]: UpstreamOptions };
  /** Clients that are known from the start. Default: none. */
  readonly clients?: readonly KnownClient[];
  /** How other clients become known. Default: by metadata documents alone. */
  readonly registration?: RegistrationOptions;
  /** Stores everything, for all processes that share it. Default: memory of this process. */
  readonly storage?: Storage;
  /**
   * Secrets that seal stored data and sign cookies. The first one seals, all of them open. To change it, append the new one
   * in all processes, then move it to the front in all, then remove the old one. Required with `storage`.
   */
  readonly secrets?: readonly string[];
  /** Format of access tokens: servers verify JWTs without a request; opaque ones can be revoked at once. Default: `"jwt"`. */
  readonly accessTokens?: "jwt" | "opaque";
  /** Lifetime of an access token. Default: 600 (10 minutes). */
  readonly accessTokenSeconds?: number;
  /** Lifetime of an unused refresh token. Default: 2,592,000 (30 days). */
  readonly refreshTokenSeconds?: number;
  /** Credentials with which servers in other processes introspect opaque tokens. Default: generated and stored. */
  readonly introspection?: { readonly clientId: string; readonly clientSecret: string };
  /** Returns the IP address of a request, for rate limits. Default: the address of the socket. */
  readonly addressOf?: (request: IncomingMessage) => string;
  /** Hears of sign-ins, tokens and refusals, without secrets. */
  readonly onEvent?: (event: AuthorityEvent) => void;
  /** Receives failures that no caller has caused. Default: writes a line for the first of a kind, then one a minute. */
  readonly onError?: (error: unknown) => void;
}

/** Schemes that browsers handle themselves. */
const dangerous = ["http", "https", "javascript", "vbscript", "data", "blob", "file", "about", "ws", "wss", "ftp"];

const optionNames: OptionNames<AuthorityOptions> = {
  ...{ issuer: 1, name: 1, resources: 1, signIn: 1, services: 1, clients: 1, registration: 1 },
  ...{
    storage: 1,
    secrets: 1,
    accessTokens: 1,
    accessTokenSeconds: 1,
    refreshTokenSeconds: 1,
    introspection: 1,
    addressOf: 1,
  },
  ...{ onEvent: 1, onError: 1 },
};
const registrationNames: OptionNames<RegistrationOptions> = {
  ...{ dynamic: 1, metadataDocuments: 1, privateSchemes: 1, perHour: 1 },
};

/** Throws, with what to do, if the options would make an unsafe authority. */
export function checkAuthorityOptions(options: AuthorityOptions): void {
  checkOptions(options, optionNames, "createAuthority");
  if (options.registration) checkOptions(options.registration, registrationNames, "createAuthority: registration");
  const { issuer, resources, signIn, services = {}, clients = [], registration, storage, secrets } = options;
  if (!isSafe(issuer) || /[?#@]/.test(issuer)) {
    throw invalid(`issuer: expected an https URL, or http on loopback, without query and fragment, got ${issuer}`);
  }
  if (issuer.endsWith("/")) throw invalid(`issuer: expected no slash at the end, got ${issuer}`);
  if (resources.length === 0) throw invalid("resources: expected at least one, got none");
  for (const { resource, scopes } of resources) {
    if (!URL.canParse(resource) || resource.includes("#")) {
      throw invalid(`resource: expected a URL without a fragment, got ${resource}`);
    }
    if (Object.keys(scopes).length === 0) {
      throw invalid(`${resource}: expected at least one scope, because people must know what they allow`);
    }
  }
  for (const { clientId, redirectUris } of clients) {
    for (const uri of redirectUris) {
      const problem = redirectProblem(uri, registration?.privateSchemes);
      if (problem !== undefined) throw invalid(`redirectUris of ${clientId}: ${problem}`);
    }
  }
  const scheme = registration?.privateSchemes?.find(
    (one) => !/^[a-z][a-z0-9+.-]*$/.test(one) || dangerous.includes(one),
  );
  if (scheme !== undefined) throw invalid(`privateSchemes: expected schemes of apps, got ${scheme}`);
  if (signIn.kind === "upstream") checkUpstream(signIn, "upstream");
  for (const [name, service] of Object.entries(services)) {
    if (!/^[a-z][a-z0-9-]{0,39}$/.test(name)) {
      throw invalid(`services: expected names of small letters and digits, got ${JSON.stringify(name)}`);
    }
    upstream(service);
    checkUpstream(service, `services.${name}`);
  }
  if (signIn.kind === "development" && !isLoopback(new URL(issuer).hostname)) {
    throw invalid(`developmentUser: lets everybody in, so the issuer must be on loopback, got ${issuer}`);
  }
  if (storage !== undefined && (secrets ?? []).length === 0) {
    throw invalid(
      "secrets: expected at least one, because a storage is given; create it with randomSecret() and keep it",
    );
  }
}

function checkUpstream({ issuer, endpoints }: UpstreamOptions, where: string): void {
  for (const address of [issuer, ...Object.values(endpoints ?? {})]) {
    if (!isSafe(address)) throw invalid(`${where}: expected https URLs, or http on loopback, got ${address}`);
  }
}

function isSafe(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function invalid(message: string): PortolanError {
  return new PortolanError("invalid-argument", message);
}

/** An event for the operator's log: sign-ins, grants, tokens, attacks. It contains no secrets. */
export type AuthorityEvent =
  | { readonly type: "signed-in"; readonly subject: string; readonly clientId: string }
  | { readonly type: "sign-in-failed"; readonly reason: "credentials" | "limit" | "upstream"; readonly address: string }
  | {
      readonly type: "allowed" | "denied";
      readonly subject?: string;
      readonly clientId: string;
      readonly scope: string;
    }
  | { readonly type: "client-registered"; readonly clientId: string; readonly address: string }
  | { readonly type: "token-issued" | "token-refreshed"; readonly subject: string; readonly clientId: string }
  /** A code or refresh token was used twice; the tokens issued for it are revoked. */
  | { readonly type: "replayed"; readonly what: "code" | "refresh-token"; readonly clientId: string }
  | { readonly type: "revoked"; readonly subject?: string; readonly clientId?: string }
  /**
   * A browser or a client referred to something that is not in the storage, or has expired. The first one of a kind and
   * address is passed on at once, and those that follow once a minute, with their number.
   */
  | {
      readonly type: "not-found";
      readonly what: "sign-in" | "client" | "code" | "refresh-token";
      readonly address: string;
      readonly count: number;
    }
  /** A person has connected an account at one of the `services`, or it is no longer connected. */
  | { readonly type: "account-connected" | "account-disconnected"; readonly subject: string; readonly service: string }
  /** The upstream provider has ended the session that a grant depends on. */
  | { readonly type: "upstream-ended"; readonly subject: string; readonly clientId: string };
