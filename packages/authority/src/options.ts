import type { IncomingMessage } from "node:http";
import { PortolanError } from "portolan";
import type { FetchPolicy } from "portolan/net";
import type { Storage } from "portolan/storage";
import { isLoopback, problemOfRedirect } from "./clients.ts";
import type { SignIn } from "./users.ts";

/** An MCP server that tokens are made for. */
export interface ProtectedResource {
  /** Its address, exactly as its `protect` and its clients have it. */
  readonly resource: string;
  /** What people know it by; its host unless given. */
  readonly name?: string;
  /** Each scope in words that a person can decide on. */
  readonly scopes: { readonly [scope: string]: string };
  /** What is asked for when a client names no scope; all scopes unless given. */
  readonly defaultScopes?: readonly string[];
}

/** A client that the operator knows. */
export interface KnownClient {
  readonly clientId: string;
  /** Without one the client is public and shows itself by PKCE alone. */
  readonly clientSecret?: string;
  readonly redirectUris: readonly string[];
  readonly name?: string;
}

/** How clients come that nobody has announced. */
export interface RegistrationOptions {
  /** Whether whoever asks is registered (RFC 7591); false unless said otherwise. */
  readonly dynamic?: boolean;
  /** Whether a client may be known by the address of its metadata, and how that is fetched; true unless said otherwise. */
  readonly metadataDocuments?: boolean | FetchPolicy;
  /** Schemes of apps, such as `cursor`, that may be sent a code though they are no domain name backwards. */
  readonly privateSchemes?: readonly string[];
  /** Dynamic registrations of one address in an hour; 20 unless given. */
  readonly perHour?: number;
}

export interface AuthorityOptions {
  /** Its identifier, exactly as it stands in metadata and tokens: https, or http on loopback; it may have a path. */
  readonly issuer: string;
  /** What people know it by. */
  readonly name: string;
  readonly resources: readonly ProtectedResource[];
  readonly signIn: SignIn;
  readonly clients?: readonly KnownClient[];
  readonly registration?: RegistrationOptions;
  /** Where everything is kept, for all processes that share it; in memory unless given. */
  readonly storage?: Storage;
  /** Seal all that is kept and sign cookies, as for `createSealer`: the newest first. Needed with a `storage`. */
  readonly secrets?: readonly string[];
  /** JWTs, which servers check by themselves, unless said otherwise; opaque ones can be revoked at once. */
  readonly accessTokens?: "jwt" | "opaque";
  /** How long an access token is good; 10 minutes unless given. */
  readonly accessTokenSeconds?: number;
  /** How long a refresh token waits to be used; 30 days unless given. */
  readonly refreshTokenSeconds?: number;
  /** What servers in other processes ask about opaque tokens with; made up and kept in the storage unless given. */
  readonly introspection?: { readonly clientId: string; readonly clientSecret: string };
  /** Who sent a request, for limits; the address of the socket unless given. */
  readonly addressOf?: (request: IncomingMessage) => string;
  readonly onEvent?: (event: AuthorityEvent) => void;
  /** Tells of failures that no caller is to blame for. */
  readonly onError?: (error: unknown) => void;
}

/** Schemes that a browser itself acts on. */
const dangerous = ["http", "https", "javascript", "vbscript", "data", "blob", "file", "about", "ws", "wss", "ftp"];

/** Throws with what to do when options do not make a safe authority. */
export function checkOptions(options: AuthorityOptions): void {
  const { issuer, resources, signIn, clients = [], registration, storage, secrets } = options;
  if (!isSafe(issuer) || /[?#@]/.test(issuer)) {
    throw invalid(`issuer: expected an https address, or http on loopback, without query and fragment, got ${issuer}`);
  }
  if (issuer.endsWith("/")) throw invalid(`issuer: expected no slash at the end, got ${issuer}`);
  if (resources.length === 0) throw invalid("resources: expected at least one, got none");
  for (const { resource, scopes } of resources) {
    if (!URL.canParse(resource) || resource.includes("#")) {
      throw invalid(`resource: expected an address without a fragment, got ${resource}`);
    }
    if (Object.keys(scopes).length === 0) {
      throw invalid(`${resource}: expected at least one scope, for people must know what they allow`);
    }
  }
  for (const { clientId, redirectUris } of clients) {
    for (const uri of redirectUris) {
      const problem = problemOfRedirect(uri, registration?.privateSchemes);
      if (problem !== undefined) throw invalid(`redirectUris of ${clientId}: ${problem}`);
    }
  }
  const scheme = registration?.privateSchemes?.find(
    (one) => !/^[a-z][a-z0-9+.-]*$/.test(one) || dangerous.includes(one),
  );
  if (scheme !== undefined) throw invalid(`privateSchemes: expected schemes of apps, got ${scheme}`);
  if (signIn.kind === "upstream") {
    for (const address of [signIn.issuer, ...Object.values(signIn.endpoints ?? {})]) {
      if (!isSafe(address)) throw invalid(`upstream: expected https addresses, or http on loopback, got ${address}`);
    }
  }
  if (signIn.kind === "development" && !isLoopback(new URL(issuer).hostname)) {
    throw invalid(`developmentUser: lets everybody in, so the issuer must be on loopback, got ${issuer}`);
  }
  if (storage !== undefined && (secrets ?? []).length === 0) {
    throw invalid(
      "secrets: expected at least one, because a storage is given; make it with randomSecret() and keep it",
    );
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

/** What an operator may want to keep: who was let in, what was given, what was tried. Nothing in it is secret. */
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
  /** A code or refresh token came twice: what it had given is revoked. */
  | { readonly type: "replayed"; readonly what: "code" | "refresh-token"; readonly clientId: string }
  | { readonly type: "revoked"; readonly subject?: string; readonly clientId?: string }
  /** The other provider no longer stands behind a grant of ours. */
  | { readonly type: "upstream-ended"; readonly subject: string; readonly clientId: string };
