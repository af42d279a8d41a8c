import {
  type Account,
  type Configuration,
  errors,
  interactionPolicy,
  type JWK,
  type KoaContextWithOIDC,
  type ResourceServer,
} from "oidc-provider";
import { RowsAdapter } from "./adapter.ts";
import { fetchDocuments } from "./clients.ts";
import {
  codeSeconds,
  daySeconds,
  documentLimit,
  idTokenSeconds,
  interactionSeconds,
  maxClientKeysBytes,
  maxClientMetadataBytes,
  unusedClientMs,
} from "./limits.ts";
import { renderError } from "./pages/messages.ts";
import { tryConsume } from "./rate-limit.ts";
import type { Redemptions } from "./redemptions.ts";
import type { Settings } from "./settings.ts";

export const introspectionRoute = "/introspect";

/** Functions that the provider calls while it handles a request. */
export interface ProviderHooks {
  /** Returns the account of a code or refresh token that is used now. Throws `InvalidGrant` if it must not be used. */
  findAccount(context: KoaContextWithOIDC, subject: string, token: unknown): Promise<Account | undefined>;
  /** Resolves to false if the grant of an access token has ended. */
  isActive(grantId: string | undefined): Promise<boolean>;
  grantEnded(grantId: string): Promise<void>;
}

export interface ConfigurationParts {
  /** The signing keys. The first one signs. */
  readonly keys: readonly JWK[];
  readonly introspection: { readonly clientId: string; readonly clientSecret: string };
  readonly redemptions: Redemptions;
  readonly hooks: ProviderHooks;
}

/** Configures the provider as OAuth 2.1 for MCP: codes with S256 only, a resource always, all other features off. */
export function toConfiguration(settings: Settings, parts: ConfigurationParts): Configuration {
  const { keys, introspection, redemptions, hooks } = parts;
  const { options, rows, isHttps, isOpaque, accessTokenSeconds, refreshTokenSeconds } = settings;
  const { dynamic = false, metadataDocuments = true } = options.registration ?? {};
  const adapterOptions = { rows, redemptions, unusedClientMs, grantEnded: hooks.grantEnded };
  const cookie = { httpOnly: true, sameSite: "lax", signed: true, secure: isHttps } as const;

  return {
    adapter: (kind: string) => new RowsAdapter(kind, adapterOptions),
    jwks: { keys: [...keys] },
    clients: [
      ...(options.clients ?? []).map(({ clientId, clientSecret, redirectUris, name }) => ({
        client_id: clientId,
        ...(clientSecret === undefined
          ? { token_endpoint_auth_method: "none" as const }
          : { client_secret: clientSecret, token_endpoint_auth_method: "client_secret_basic" as const }),
        redirect_uris: [...redirectUris],
        grant_types: ["authorization_code", "refresh_token"],
        ...(name !== undefined && { client_name: name }),
      })),
      {
        client_id: introspection.clientId,
        client_secret: introspection.clientSecret,
        token_endpoint_auth_method: "client_secret_basic" as const,
        redirect_uris: [],
        response_types: [],
        grant_types: [],
      },
    ],
    clientDefaults: { id_token_signed_response_alg: "ES256", response_modes: ["query"] },
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
    enabledJWA: {
      idTokenSigningAlgValues: ["ES256"],
      clientAuthSigningAlgValues: ["ES256", "RS256", "PS256", "Ed25519", "EdDSA"],
      dPoPSigningAlgValues: ["ES256", "Ed25519", "EdDSA"],
    },
    clientBasedCORS: (_context, origin, client) =>
      client.clientAuthMethod === "none" && (client.redirectUris ?? []).some((uri) => new URL(uri).origin === origin),
    responseTypes: ["code"],
    pkce: { required: () => true },
    scopes: ["offline_access"],
    routes: {
      authorization: "/authorize",
      token: "/token",
      registration: "/register",
      revocation: "/revoke",
      introspection: introspectionRoute,
      jwks: "/jwks",
      end_session: "/sign-out",
    },
    cookies: {
      names: {
        session: settings.cookieName("session"),
        interaction: settings.cookieName("page", "below"),
        resume: settings.cookieName("resume", "below"),
      },
      long: cookie,
      short: cookie,
      keys: [...settings.cookieKeys],
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: true },
      revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
      introspection: {
        enabled: true,
        allowedPolicy: async (_context, client, token) => {
          if (client.clientId !== introspection.clientId && client.clientId !== token.clientId) return false;
          return hooks.isActive("grantId" in token ? token.grantId : undefined);
        },
      },
      registration: { enabled: dynamic, issueRegistrationAccessToken: false },
      clientIdMetadataDocument: {
        enabled: metadataDocuments !== false,
        ack: "draft-02",
        cacheDuration: { min: 60, max: daySeconds },
        allowFetch: (context, clientId) =>
          new URL(clientId).pathname !== "/" &&
          tryConsume(rows, "document", settings.addressOf(context.req), documentLimit),
      },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        defaultResource: (_context, _client, oneOf) => {
          if (oneOf) return oneOf;
          const [only, ...others] = options.resources;
          if (only && others.length === 0) return only.resource;
          throw new errors.InvalidTarget("resource: expected the URL of one server, got none");
        },
        getResourceServerInfo: ({ oidc }, identifier): ResourceServer => {
          const known = settings.resourceOf(identifier);
          if (!known) throw new errors.InvalidTarget("resource: this authority issues no tokens for this server");
          const isAlone = [oidc.params?.["resource"]].flat().length === 1;
          const isNone = ![...oidc.requestParamScopes].some((scope) => Object.hasOwn(known.scopes, scope));
          if (oidc.route === "authorization" && isAlone && isNone) {
            throw new errors.InvalidScope("scope: the server has none of these scopes", String(oidc.params?.["scope"]));
          }
          return {
            scope: Object.keys(known.scopes).join(" "),
            audience: known.resource,
            accessTokenTTL: accessTokenSeconds,
            accessTokenFormat: isOpaque ? "opaque" : "jwt",
            jwt: { sign: { alg: "ES256" } },
          };
        },
      },
    },
    extraParams: settings.signIn.kind === "development" ? { development: alwaysSignedIn(settings.signIn.subject) } : [],
    interactions: { policy: toPolicy(settings), url: (_context, { uid }) => `${settings.mount}/page/${uid}` },
    loadExistingGrant: (context) => findGrant(context, settings),
    findAccount: (context, subject, token) => hooks.findAccount(context, subject, token),
    // Tokens outlive the browser session in which they were allowed.
    expiresWithSession: () => false,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed("refresh_token"),
    // spec 2025-11-25: authorization#token-theft. A refresh token that is bound to a key needs no rotation.
    rotateRefreshToken: ({ oidc }) =>
      oidc.client?.clientAuthMethod === "none" && oidc.entities.RefreshToken?.isSenderConstrained() === false,
    revokeGrantPolicy: () => true,
    allowOmittingSingleRegisteredRedirectUri: false,
    ttl: {
      AccessToken: accessTokenSeconds,
      AuthorizationCode: codeSeconds,
      RefreshToken: refreshTokenSeconds,
      Grant: refreshTokenSeconds + daySeconds,
      Interaction: interactionSeconds,
      Session: daySeconds,
      IdToken: idTokenSeconds,
    },
    fetch: fetchDocuments(metadataDocuments),
    fetchResponseBodyLimits: {
      "client_id metadata document": maxClientMetadataBytes,
      jwks_uri: maxClientKeysBytes,
      sector_identifier_uri: maxClientMetadataBytes,
    },
    renderError: (context, out, error) => renderError(settings, context, out, error),
  };
}

/** Asks for consent on every request: an earlier consent may have been for another program with the same name. */
function toPolicy({ signIn }: Settings): interactionPolicy.DefaultPolicy {
  const { Check, Prompt, base } = interactionPolicy;
  const policy = base();
  if (signIn.kind === "development") {
    // A client may ask for these prompts. Without checks, none of them needs a page.
    for (const prompt of policy) prompt.checks.clear();
    return policy;
  }
  policy.remove("consent");
  const ask = new Check("not_asked", "the person has not been asked", ({ oidc }) => oidc.result?.consent === undefined);
  policy.add(new Prompt({ name: "consent", requestable: true }, ask));
  if (signIn.kind === "upstream") {
    // The upstream login is repeated each time: the new grant needs upstream tokens of its own.
    const signedIn = new Check(
      "not_signed_in",
      "the person must sign in",
      ({ oidc }) => oidc.result?.login === undefined,
    );
    policy.get("login")?.checks.add(signedIn);
  }
  return policy;
}

function alwaysSignedIn(subject: string) {
  return ({ oidc }: KoaContextWithOIDC): void => {
    const session = oidc.session as unknown as { loginAccount(details: { accountId: string }): void };
    session.loginAccount({ accountId: subject });
  };
}

/** Finds the grant of this request only: an earlier one may belong to another program with the same client id. */
async function findGrant({ oidc }: KoaContextWithOIDC, { signIn }: Settings) {
  const grantId = oidc.result?.consent?.grantId;
  if (grantId !== undefined) return oidc.provider.Grant.find(grantId);
  if (signIn.kind !== "development" || !oidc.client) return undefined;
  const grant = new oidc.provider.Grant({ accountId: signIn.subject, clientId: oidc.client.clientId });
  for (const resource of Object.keys(oidc.resourceServers ?? {})) {
    grant.addResourceScope(resource, [...oidc.requestParamScopes]);
  }
  grant.addOIDCScope([...oidc.requestParamOIDCScopes]);
  await grant.save();
  return grant;
}
