import type { ServiceSignIn, SignInOptions } from "portolan-server-kit/service";
import { service } from "./github.ts";

/** Returns GitHub as a place where people sign in, so that a server acts with their accounts. */
export function githubSignIn(options: SignInOptions): ServiceSignIn {
  const { clientId, clientSecret, readOnly = false, site = "https://github.com", api = service.api } = options;
  return {
    issuer: site,
    name: service.name,
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
