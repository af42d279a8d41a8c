/** A provider that people have accounts with; its tokens stay here, clients only ever get ours. */
export interface UpstreamOptions {
  /** As its metadata names it, to the letter. */
  readonly issuer: string;
  readonly clientId: string;
  /** Without one this client is public there. */
  readonly clientSecret?: string;
  /** What it is asked for; `openid` unless given. */
  readonly scopes?: readonly string[];
  /** What people know it by; its host unless given. */
  readonly name?: string;
  /** Its endpoints, for one that has no metadata. */
  readonly endpoints?: UpstreamEndpoints;
  /** Who somebody is by what its userinfo endpoint says, where it issues no ID tokens; `sub` unless given. */
  readonly subjectOf?: (userinfo: { readonly [claim: string]: unknown }) => string | undefined;
  /** More parameters for its authorization endpoint, such as `prompt` or `access_type`. */
  readonly parameters?: { readonly [name: string]: string };
  /** How long its word about a token is trusted; 60 seconds unless given, and never longer. */
  readonly checkSeconds?: number;
}

export interface UpstreamEndpoints {
  readonly authorization: string;
  readonly token: string;
  readonly userinfo?: string;
  readonly introspection?: string;
  readonly revocation?: string;
}

export interface UpstreamSignIn extends UpstreamOptions {
  readonly kind: "upstream";
}

/** Lets people sign in with another provider; register `<issuer>/callback` of the authority there. */
export function upstream(options: UpstreamOptions): UpstreamSignIn {
  return { kind: "upstream", ...options };
}
