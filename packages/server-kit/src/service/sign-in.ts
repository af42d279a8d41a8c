/** The application that is registered at a service, for people who sign in there. */
export interface SignInOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Asks people only for what a server with `readOnly` needs. Default: false. */
  readonly readOnly?: boolean;
  /** The address where people sign in. Default: that of the service. */
  readonly site?: string;
  /** The address of the API. Default: that of the service. */
  readonly api?: string;
}

/** A service where people sign in, for `upstream` and `services` of `portolan-authority`. */
export interface ServiceSignIn {
  readonly issuer: string;
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  readonly secretIn?: "header" | "body";
  readonly endpoints: {
    readonly authorization: string;
    readonly token: string;
    readonly userinfo: string;
    readonly revocation?: string;
  };
  readonly parameters?: { readonly [name: string]: string };
  /** Returns who a person is; undefined if the token is no longer valid. */
  readonly subjectOf: (userinfo: { readonly [member: string]: unknown }) => string | undefined;
  readonly toTokenResponse?: (response: { readonly [member: string]: unknown }) => {
    readonly [member: string]: unknown;
  };
}
