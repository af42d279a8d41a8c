import { checkOptions, type OptionNames } from "portolan";

/** An identity provider that people have accounts with. Its tokens stay here; clients get tokens of the authority. */
export interface UpstreamOptions {
  /** Its identifier, exactly as in its metadata. */
  readonly issuer: string;
  /** The id under which the provider knows this authority. */
  readonly clientId: string;
  /** Without one this client is public. */
  readonly clientSecret?: string;
  /** Where a provider without metadata expects the secret. Default: `"header"` (HTTP Basic). */
  readonly secretIn?: "header" | "body";
  /** Scopes to request. Default: `["openid"]`. */
  readonly scopes?: readonly string[];
  /** The name that people see. Default: its host. */
  readonly name?: string;
  /** Its endpoints, if it has no metadata. */
  readonly endpoints?: UpstreamEndpoints;
  /**
   * Returns the subject from the userinfo response, if the provider issues no ID tokens; undefined if the response says that
   * the token is no longer valid. Default: `sub`.
   */
  readonly subjectOf?: (userinfo: JsonMembers) => string | undefined;
  /** Returns the response of its token endpoint as OAuth 2.0 has it, if it differs. Default: the response as it is. */
  readonly toTokenResponse?: (response: JsonMembers) => JsonMembers;
  /** More parameters for its authorization endpoint, such as `prompt` or `access_type`. */
  readonly parameters?: { readonly [name: string]: string };
  /** How long a check of an upstream token is trusted. Default: 60. At most 60. */
  readonly checkSeconds?: number;
}

/** The members of a JSON object. */
export interface JsonMembers {
  readonly [member: string]: unknown;
}

/** The addresses of a provider without metadata. */
export interface UpstreamEndpoints {
  readonly authorization: string;
  readonly token: string;
  readonly userinfo?: string;
  readonly introspection?: string;
  readonly revocation?: string;
}

/** A sign-in with another provider, made by `upstream`. */
export interface UpstreamSignIn extends UpstreamOptions {
  readonly kind: "upstream";
}

const optionNames: OptionNames<UpstreamOptions> = {
  ...{ issuer: 1, clientId: 1, clientSecret: 1, scopes: 1, name: 1, endpoints: 1, subjectOf: 1, parameters: 1 },
  ...{ secretIn: 1, toTokenResponse: 1, checkSeconds: 1 },
};

/** Lets people sign in with another provider. Register `<issuer>/callback` of the authority as redirect URI there. */
export function upstream(options: UpstreamOptions): UpstreamSignIn {
  checkOptions(options, optionNames, "upstream");
  return { kind: "upstream", ...options };
}
