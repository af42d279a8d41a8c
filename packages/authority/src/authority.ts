import type { EventEmitter } from "node:events";
import { type Account, type AdapterPayload, errors, type KoaContextWithOIDC, type RefreshToken } from "oidc-provider";
import { PortolanError } from "portolan";
import type { Introspection, Issuer } from "portolan/auth/server";
import { grantsOf, type Held } from "./adapter.ts";
import { introspectionRoute, toConfiguration } from "./configuration.ts";
import { revokeGrant } from "./grants.ts";
import { Interactions } from "./interaction.ts";
import { introspectionSecret, signingKey } from "./keys.ts";
import { type AuthorityListener, createListener } from "./listener.ts";
import { authorizing, describing, guarding, issuing, RefreshAnswers, registering, repeatMs } from "./middleware.ts";
import type { AuthorityOptions } from "./options.ts";
import { createProvider } from "./provider.ts";
import { type Settings, toSettings } from "./settings.ts";
import { createLink, type Link, Upstream } from "./upstream/upstream.ts";

/** Whose grants are meant: of a person, of a client, or of a person to a client. */
export interface Whose {
  readonly subject?: string;
  readonly clientId?: string;
}

/** An authorization server of one's own. */
export interface Authority {
  /** Serves everything below the issuer, and its metadata at the root of its host. */
  readonly handle: AuthorityListener;
  /** For `issuers` of `protect`: how servers check the tokens that are made here. */
  readonly protection: Issuer | Introspection;
  /**
   * A token of the provider upstream for a person who uses a client, for calls that a server makes on their behalf.
   * Rejects with "unauthorized" when the person must sign in again.
   */
  upstreamToken(holder: { readonly subject: string; readonly clientId: string }): Promise<string>;
  /** Ends what was allowed: refresh tokens and opaque access tokens at once, JWTs when they expire. */
  revoke(whose: Whose): Promise<void>;
  /** Serves nothing more; resolves when what was under way is answered. */
  close(): Promise<void>;
}

/** Makes an OAuth 2.1 authorization server for MCP servers that have none. */
export async function createAuthority(options: AuthorityOptions): Promise<Authority> {
  const settings = await toSettings(options);
  const { rows, issuer, mount, signIn } = settings;
  const introspection = options.introspection ?? {
    clientId: "resource-server",
    clientSecret: await introspectionSecret(rows),
  };
  const link = signIn.kind === "upstream" ? createLink(settings, signIn, endedUpstream) : undefined;

  const configuration = toConfiguration(settings, {
    key: await signingKey(rows),
    introspection,
    hooks: {
      findAccount: (context, subject, token) => findAccount(settings, link, context, subject, token),
      stands: async (grantId) => !link || (grantId !== undefined && link.keeper.stands(grantId)),
      grantEnded: async (grantId) => link?.keeper.release(grantId),
    },
  });
  const provider = createProvider(settings, configuration);
  const revokeOne = (grantId: string) => revokeGrant(provider, grantId);

  async function endedUpstream(grantId: string): Promise<void> {
    const grant = await provider.Grant.find(grantId);
    await revokeOne(grantId);
    const { accountId: subject = "", clientId = "" } = grant ?? {};
    if (grant) settings.tell({ type: "upstream-ended", subject, clientId });
  }

  provider.use(guarding);
  provider.use(describing(settings));
  provider.use(authorizing(settings));
  provider.use(registering(settings));
  provider.use(issuing(settings, { answers: new RefreshAnswers(rows), revokeGrant: revokeOne }));
  // Otherwise it would be written to the console.
  (provider as EventEmitter).on("error", settings.fail);
  provider.on("server_error", (_context, error) => settings.fail(error));
  provider.on("grant.error", ({ oidc }, error) => {
    const what = replayedIn(error);
    if (what) settings.tell({ type: "replayed", what, clientId: oidc.client?.clientId ?? "" });
  });

  provider.on("grant.revoked", ({ oidc }) => {
    if (oidc.route !== "revocation") return;
    const subject = (oidc.entities.RefreshToken ?? oidc.entities.AccessToken)?.accountId;
    settings.tell({
      type: "revoked",
      clientId: oidc.client?.clientId ?? "",
      ...(subject !== undefined && { subject }),
    });
  });

  const upstream = link && new Upstream(settings, provider, link);
  const interactions = new Interactions(settings, provider, upstream);
  const provide = provider.callback();
  const { handle, close } = createListener(settings, {
    provide: async (request, response) => provide(request, response),
    page: (uid, request, response) => interactions.serve(uid, request, response),
    ...(upstream && { callback: (query, request, response) => upstream.callback(query, request, response) }),
  });

  return {
    handle,
    protection: settings.isOpaque
      ? { issuer: options.issuer, endpoint: `${issuer.origin}${mount}${introspectionRoute}`, ...introspection }
      : { issuer: options.issuer, jwksUri: `${issuer.origin}${mount}/jwks`, algorithms: ["ES256"] },
    async upstreamToken(holder) {
      const held: Held[] = [];
      for await (const one of grantsOf(rows, holder)) held.push(one);
      // The latest first: of several programs under one name it is the one in use.
      for (const { grantId } of held.sort((a, b) => b.since - a.since)) {
        const token = await link?.keeper.fresh(grantId);
        if (token !== undefined) return token;
      }
      throw new PortolanError(
        "unauthorized",
        `${holder.subject} has no session upstream any more and must sign in again`,
      );
    },
    async revoke(whose) {
      for await (const { grantId } of grantsOf(rows, whose)) await revokeOne(grantId);
      settings.tell({ type: "revoked", ...whose });
    },
    close,
  };
}

/** The person of a token that is used now, if they still may; throws InvalidGrant when the token may not be used. */
export async function findAccount(
  settings: Settings,
  link: Link | undefined,
  context: KoaContextWithOIDC,
  subject: string,
  token: unknown,
): Promise<Account | undefined> {
  const { kind, jti, grantId, consumed } = (token ?? {}) as Partial<RefreshToken> & Pick<AdapterPayload, "consumed">;
  const isRefresh = kind === "RefreshToken";
  if (isRefresh && typeof consumed === "number" && Date.now() - consumed < repeatMs) {
    // By now the provider has checked all else about the request.
    context.state["cameSecond"] = { kind, id: jti, grantId };
    throw new errors.InvalidGrant("refresh token is in use");
  }
  const { signIn, accessTokenSeconds } = settings;
  if (signIn.kind === "passwords" && !(await signIn.find(subject))) return undefined;
  if (isRefresh && link && grantId !== undefined) {
    const stands =
      (await link.keeper.stands(grantId)) &&
      (await link.keeper.fresh(grantId, accessTokenSeconds * 1_000)) !== undefined;
    if (!stands) throw new errors.InvalidGrant("the session upstream has ended");
  }
  return { accountId: subject, claims: async () => ({ sub: subject }) };
}

/** Whether an error of the token endpoint says that something came twice. */
export function replayedIn(error: errors.OIDCProviderError): "code" | "refresh-token" | undefined {
  const { error_detail: detail } = error as { error_detail?: string };
  if (detail === "refresh token already used") return "refresh-token";
  return detail === "authorization code already consumed" ? "code" : undefined;
}
