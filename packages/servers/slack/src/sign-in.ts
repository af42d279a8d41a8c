import type { ServiceSignIn, SignInOptions } from "portolan-server-kit/service";
import { isSignedOut, service } from "./slack.ts";

const readScopes = [
  ...["channels:read", "groups:read", "channels:history", "groups:history"],
  ...["users:read", "search:read", "reactions:read", "files:read"],
];
const writeScopes = ["chat:write", "reactions:write", "files:write"];

/** Failures after which only a new sign-in helps. */
const endedGrants: readonly unknown[] = ["invalid_code", "code_already_used", "invalid_refresh_token"];

type Members = Parameters<NonNullable<ServiceSignIn["toTokenResponse"]>>[0];

/** Returns Slack as a place where people sign in, so that a server acts with their accounts. */
export function slackSignIn(options: SignInOptions): ServiceSignIn {
  const { clientId, clientSecret, readOnly = false, site = "https://slack.com", api = service.api } = options;
  const scopes = readOnly ? readScopes : [...readScopes, ...writeScopes];
  return {
    issuer: site,
    name: service.name,
    clientId,
    clientSecret,
    // `scope` is for bots; people are asked for `user_scope`.
    scopes: [],
    parameters: { user_scope: scopes.join(",") },
    endpoints: {
      authorization: `${site}/oauth/v2/authorize`,
      token: `${api}/oauth.v2.access`,
      userinfo: `${api}/auth.test`,
    },
    subjectOf,
    toTokenResponse,
  };
}

/** Slack says with status 200 that a token is no longer valid. An id of a user is unique within a team only. */
function subjectOf({ ok, error, team_id, user_id }: Members): string | undefined {
  if (ok === true && typeof team_id === "string" && typeof user_id === "string") return `${team_id}-${user_id}`;
  if (isSignedOut(error)) return undefined;
  throw new Error(`Slack did not say whose token it is: ${String(error)}`);
}

/** The token of the person stands beside that of a bot; after a renewal it is the only one. */
function toTokenResponse({ ok, error, authed_user, ...rest }: Members): Members {
  if (ok !== true) {
    const isEnded = endedGrants.includes(error) || isSignedOut(error);
    return { error: isEnded ? "invalid_grant" : String(error), error_description: String(error) };
  }
  const { access_token, refresh_token, expires_in } = (authed_user as Members | undefined) ?? rest;
  return {
    access_token,
    token_type: "bearer",
    ...(refresh_token !== undefined && { refresh_token }),
    ...(expires_in !== undefined && { expires_in }),
  };
}
