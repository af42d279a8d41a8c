import type { EventEmitter } from "node:events";
import { type Account, type AdapterPayload, errors, type KoaContextWithOIDC, type RefreshToken } from "oidc-provider";
import { PortolanError } from "portolan";
import { type GrantRecord, grantsOf } from "./adapter.ts";
import { introspectionRoute, toConfiguration } from "./configuration.ts";
import type { Authority } from "./create.ts";
import { revokeGrant } from "./grants.ts";
import { Interactions } from "./interaction.ts";
import { introspectionSecret, resealKeys, signingKeys } from "./keys.ts";
import { createListener } from "./listener.ts";
import {
  authorizationMiddleware,
  failureMiddleware,
  headersMiddleware,
  keysMiddleware,
  metadataMiddleware,
  registrationMiddleware,
  tokenMiddleware,
} from "./middleware.ts";
import type { AuthorityOptions } from "./options.ts";
import { createProvider } from "./provider.ts";
import { Redemptions, type TokenState } from "./redemptions.ts";
import { reportLostClient } from "./report-lost.ts";
import { UnknownSecretError } from "./rows.ts";
import { Services } from "./services/accounts.ts";
import { type Settings, toSettings } from "./settings.ts";
import { connectUpstream, Upstream, type UpstreamConnection } from "./upstream/upstream.ts";

/** Creates an OAuth 2.1 authorization server for MCP servers that have none. */
export async function createAuthority(options: AuthorityOptions): Promise<Authority> {
  const settings = await toSettings(options);
  const { rows, issuer, mount, signIn } = settings;
  const introspection = options.introspection ?? {
    clientId: "resource-server",
    clientSecret: await introspectionSecret(rows),
  };
  const keys = await signingKeys(rows);
  await resealKeys(rows);
  const connection = signIn.kind === "upstream" ? connectUpstream(settings, signIn, endedUpstream) : undefined;

  const { refreshTokenSeconds, reportError } = settings;
  const redemptions = new Redemptions({ rows, refreshTokenSeconds, reportError });
  const configuration = toConfiguration(settings, {
    keys: keys.map(({ jwk }) => jwk),
    introspection,
    redemptions,
    hooks: {
      findAccount: (context, subject, token) => findAccount(settings, connection, context, subject, token),
      isActive: async (grantId) => !connection || (grantId !== undefined && connection.tokens.isActive(grantId)),
      grantEnded: async (grantId) => connection?.tokens.release(grantId),
    },
  });
  const provider = createProvider(settings, configuration);
  const revokeOne = (grantId: string) => revokeGrant(provider, grantId);

  async function endedUpstream(grantId: string): Promise<void> {
    const grant = await provider.Grant.find(grantId);
    await revokeOne(grantId);
    const { accountId: subject = "", clientId = "" } = grant ?? {};
    if (grant) settings.emit({ type: "upstream-ended", subject, clientId });
  }

  provider.use(headersMiddleware);
  provider.use(failureMiddleware(settings));
  provider.use(metadataMiddleware(settings));
  provider.use(keysMiddleware(settings));
  provider.use(authorizationMiddleware(settings));
  provider.use(registrationMiddleware(settings));
  provider.use(tokenMiddleware(settings, { redemptions, revokeGrant: revokeOne }));
  // Without a listener, the provider writes errors to the console.
  (provider as EventEmitter).on("error", settings.reportError);
  // The provider has written a response already; the middleware for failures writes a better one.
  provider.on("server_error", (context, error) => {
    context.state["failure"] = error;
  });
  provider.on("authorization.error", (context, error) => {
    if (error.name === "SessionNotFound") context.state["isSignInLost"] = true;
    else if (detailOf(error) === "client not found") reportLostClient(settings, context);
  });
  provider.on("grant.error", (context, error) => {
    context.state["refusal"] = detailOf(error);
  });

  provider.on("grant.revoked", ({ oidc }) => {
    if (oidc.route !== "revocation") return;
    const subject = (oidc.entities.RefreshToken ?? oidc.entities.AccessToken)?.accountId;
    settings.emit({
      type: "revoked",
      clientId: oidc.client?.clientId ?? "",
      ...(subject !== undefined && { subject }),
    });
  });

  const upstream = connection && new Upstream(settings, provider, connection);
  const interactions = new Interactions(settings, provider, upstream);
  const services = new Services(settings, provider, options.services ?? {});
  const provide = provider.callback();
  const { handle, close } = createListener(settings, {
    provide: async (request, response) => provide(request, response),
    page: (uid, request, response) => interactions.serve(uid, request, response),
    ...(upstream && { callback: (query, request, response) => upstream.callback(query, request, response) }),
    ...(options.services && {
      connect: (path, query, request, response) => services.serve(path, query, request, response),
    }),
  });

  return {
    handle,
    protection: settings.isOpaque
      ? { issuer: options.issuer, endpoint: `${issuer.origin}${mount}${introspectionRoute}`, ...introspection }
      : { issuer: options.issuer, jwksUri: `${issuer.origin}${mount}/jwks`, algorithms: ["ES256"] },
    async upstreamToken(holder) {
      const records: GrantRecord[] = [];
      let unknown: UnknownSecretError | undefined;
      try {
        for await (const one of grantsOf(rows, holder)) records.push(one);
      } catch (error) {
        if (!(error instanceof UnknownSecretError)) throw error;
        unknown = error;
      }
      // Latest first: when several programs share a client id, the latest grant is the one in use.
      for (const { grantId } of records.sort((a, b) => b.since - a.since)) {
        const token = await connection?.tokens.validToken(grantId);
        if (token !== undefined) return token;
      }
      if (unknown) throw unknown;
      throw new PortolanError(
        "unauthorized",
        `${holder.subject} has no upstream session any more and must sign in again`,
      );
    },
    accountsAt: (name) => services.accountsAt(name),
    async revoke(filter) {
      const failures: unknown[] = [];
      const fail = (failure: unknown) => void failures.push(failure);
      try {
        // A grant that cannot be revoked now does not stop the others from being revoked.
        for await (const { grantId } of grantsOf(rows, filter)) await revokeOne(grantId).catch(fail);
      } catch (failure) {
        fail(failure);
      }
      const [first, ...others] = failures;
      for (const failure of others) settings.reportError(failure);
      if (failures.length > 0) throw first;
      settings.emit({ type: "revoked", ...filter });
    },
    close,
  };
}

/** Returns the account that a code or refresh token belongs to, if it is still active. Throws `InvalidGrant` otherwise. */
export async function findAccount(
  settings: Settings,
  connection: UpstreamConnection | undefined,
  context: KoaContextWithOIDC,
  subject: string,
  token: unknown,
): Promise<Account | undefined> {
  const { kind, jti, grantId, consumed } = (token ?? {}) as Partial<RefreshToken> & Pick<AdapterPayload, "consumed">;
  const isRefresh = kind === "RefreshToken";
  if (isRefresh && jti !== undefined && consumed !== undefined) {
    // The provider has already checked everything else about the request.
    (context.state as TokenState).usedBefore = { kind, id: jti, grantId };
    throw new errors.InvalidGrant("refresh token was used before");
  }
  const { signIn, accessTokenSeconds } = settings;
  if (signIn.kind === "passwords" && !(await signIn.find(subject))) return undefined;
  if (isRefresh && connection && grantId !== undefined) {
    const isActive =
      (await connection.tokens.isActive(grantId)) &&
      (await connection.tokens.validToken(grantId, accessTokenSeconds * 1_000)) !== undefined;
    if (!isActive) throw new errors.InvalidGrant("the upstream session has ended");
  }
  return { accountId: subject, claims: async () => ({ sub: subject }) };
}

/** Returns the reason of an error that the provider does not send to clients. */
function detailOf(error: errors.OIDCProviderError): string | undefined {
  return (error as { error_detail?: string }).error_detail;
}
