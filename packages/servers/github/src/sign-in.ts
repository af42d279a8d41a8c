/** Options of `githubSignIn`: the application that is registered at GitHub. */
export interface GithubSignInOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Asks people only for what a server with `readOnly` needs. Default: false. */
  readonly readOnly?: boolean;
  /** The address where people sign in. Default: `https://github.com`. */
  readonly site?: string;
  /** The address of the API. Default: `https://api.github.com`. */
  readonly api?: string;
}

/** GitHub as an identity provider, for `upstream` of `portolan-authority`. */
export interface GithubSignIn {
  readonly issuer: string;
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  readonly endpoints: { readonly authorization: string; readonly token: string; readonly userinfo: string };
  readonly subjectOf: (userinfo: { readonly [claim: string]: unknown }) => string | undefined;
}

/** Returns GitHub as an identity provider: people sign in there, and a server acts with their accounts. */
export function githubSignIn(options: GithubSignInOptions): GithubSignIn {
  const { clientId, clientSecret, readOnly = false } = options;
  const { site = "https://github.com", api = "https://api.github.com" } = options;
  return {
    issuer: site,
    name: "GitHub",
    clientId,
    clientSecret,
    // GitHub's OAuth applications have no scope for reading private code; without `repo`, people see public code only.
    scopes: readOnly ? ["read:user"] : ["read:user", "repo"],
    endpoints: {
      authorization: `${site}/login/oauth/authorize`,
      token: `${site}/login/oauth/access_token`,
      userinfo: `${api}/user`,
    },
    // Names of accounts can be taken over by others, numbers cannot.
    subjectOf: ({ id }) => (typeof id === "number" ? String(id) : undefined),
  };
}
