import type { ServiceSignIn, SignInOptions } from "portolan-server-kit/service";
import { service } from "./asana.ts";

const readScopes = [
  ...["workspaces:read", "workspaces.typeahead:read", "users:read", "projects:read", "tasks:read", "stories:read"],
];

/** Returns Asana as a place where people sign in, so that a server acts with their accounts. */
export function asanaSignIn(options: SignInOptions): ServiceSignIn {
  const { clientId, clientSecret, readOnly = false, site = "https://app.asana.com", api = service.api } = options;
  return {
    issuer: site,
    name: service.name,
    clientId,
    clientSecret,
    // The sections of a project belong to no smaller scope; a server that only reads leaves them out with a note.
    scopes: readOnly ? readScopes : ["default"],
    secretIn: "body",
    endpoints: {
      authorization: `${site}/-/oauth_authorize`,
      token: `${site}/-/oauth_token`,
      userinfo: `${api}/users/me`,
      revocation: `${site}/-/oauth_revoke`,
    },
    subjectOf: ({ data }) => (data as { readonly gid?: string } | undefined)?.gid,
  };
}
