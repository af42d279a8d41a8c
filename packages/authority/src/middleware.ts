import type { AdapterPayload, KoaContextWithOIDC } from "oidc-provider";
import { toFailureResponse } from "./failure.ts";
import { publicKeys, type SigningJwk } from "./keys.ts";
import {
  authorizationLimit,
  authorizationSizeLimit,
  dayMs,
  defaultRegistrationsPerHour,
  maxRegistrationBytes,
  redemptionRetrySeconds,
  usedClientMs,
} from "./limits.ts";
import { pageHeaders } from "./pages/layout.ts";
import { errorPage } from "./pages/messages.ts";
import { tryConsume } from "./rate-limit.ts";
import type { Redeemed, Redemptions, TokenResponse, TokenState } from "./redemptions.ts";
import { reportLostSignIn, reportLostToken } from "./report-lost.ts";
import type { Settings } from "./settings.ts";

type Next = () => Promise<unknown>;

/** Adds default scopes to an authorization request, and refuses unsafe or too many ones with a page. */
export function authorizationMiddleware(settings: Settings) {
  return async (context: KoaContextWithOIDC, next: Next): Promise<void> => {
    if (context.path !== "/authorize") return void (await next());
    const { scope, resource, response_mode: mode } = context.query;
    const refuse = (status: number, what: string, detail?: string) => {
      context.status = status;
      context.type = "html";
      context.body = errorPage(settings.options.name, what, detail);
    };
    if (mode !== undefined && mode !== "query") {
      const what = "The app asks for a response mode that is not safe here.";
      return refuse(400, what, "response_mode: expected query");
    }
    const address = settings.addressOf(context.req);
    // The request is stored until it expires, although nobody has signed in for it.
    const kib = Math.ceil((context.req.url ?? "").length / 1_024);
    const mayBegin =
      (await tryConsume(settings.rows, "authorize", address, authorizationLimit)) &&
      (await tryConsume(settings.rows, "authorize-size", address, authorizationSizeLimit, kib));
    if (!mayBegin) {
      return refuse(429, "There were too many requests from your network. Try again in ten minutes.");
    }
    const asked = [scope ?? []].flat().flatMap((one) => one.split(" ").filter((part) => part !== ""));
    // `offline_access` alone requests long access to nothing in particular.
    if (asked.every((one) => one === "offline_access")) {
      const [only, ...others] = settings.options.resources;
      const named = resource === undefined ? (others.length === 0 && only ? [only.resource] : []) : [resource].flat();
      const scopes = named.flatMap((one) => {
        const known = settings.resourceOf(one);
        return known?.defaultScopes ?? Object.keys(known?.scopes ?? {});
      });
      if (scopes.length > 0) context.query = { ...context.query, scope: [...new Set([...scopes, ...asked])].join(" ") };
    }
    await next();
  };
}

/** Answers a failure as OAuth clients expect it: as JSON, and at the pages for people as a page. */
export function failureMiddleware(settings: Settings) {
  return async (context: KoaContextWithOIDC, next: Next): Promise<void> => {
    try {
      await next();
      if (context.state["isSignInLost"] === true) await signInLost(context);
      // The provider catches failures itself, and answers them without a reason.
      if (context.state["failure"] === undefined) return;
      fail(context, context.state["failure"]);
    } catch (error) {
      fail(context, error);
    }
  };

  /** Reports a sign-in that was not found. Throws if it is there, but sealed with a secret that this process lacks. */
  async function signInLost(context: KoaContextWithOIDC): Promise<void> {
    await settings.rows.get(await settings.rows.keyOf("Interaction", context.path.slice("/authorize/".length)));
    reportLostSignIn(settings, context.req);
  }

  function fail(context: KoaContextWithOIDC, error: unknown): void {
    settings.reportError(error);
    const { status, headers, page, body } = toFailureResponse(settings, error);
    context.status = status;
    context.set(headers);
    // A code would have expired by then.
    const isCode = context.path === "/token" && context.oidc?.params?.["grant_type"] === "authorization_code";
    if (isCode && status === 503) context.set("retry-after", String(redemptionRetrySeconds));
    const isPage = context.path === "/authorize" || context.path.startsWith("/authorize/");
    if (isPage) context.type = "html";
    context.body = isPage ? page : body;
  }
}

interface RegistrationResponse {
  readonly client_id?: string;
  readonly redirect_uris?: readonly string[];
}

/** Limits the number and size of registrations, and allows them from pages in a browser (CORS). */
export function registrationMiddleware(settings: Settings) {
  const { dynamic, perHour = defaultRegistrationsPerHour } = settings.options.registration ?? {};
  const limit = { max: perHour, windowMs: 3_600_000 };
  return async (context: KoaContextWithOIDC, next: Next): Promise<void> => {
    if (context.path !== "/register" || dynamic !== true) return void (await next());
    const origin = context.get("origin");
    if (context.method === "OPTIONS") {
      context.set({ "access-control-allow-origin": "*", "access-control-allow-headers": "content-type, accept" });
      context.status = 204;
      return;
    }
    if (context.method !== "POST") return void (await next());
    const refuse = (status: number, error: string, why: string) => {
      context.status = status;
      context.body = { error, error_description: why };
    };
    if ((context.request.length ?? Number.POSITIVE_INFINITY) > maxRegistrationBytes) {
      return refuse(
        413,
        "invalid_client_metadata",
        `expected at most ${maxRegistrationBytes} bytes, with a content-length`,
      );
    }
    const address = settings.addressOf(context.req);
    if (!(await tryConsume(settings.rows, "register", address, limit))) {
      context.set("retry-after", "3600");
      return refuse(429, "temporarily_unavailable", "there were too many registrations from this address");
    }
    await next();
    const { client_id: clientId = "", redirect_uris: uris = [] } = (context.body ?? {}) as RegistrationResponse;
    context.vary("Origin");
    // A page may read the response only if it has the origin of a redirect URI of the client.
    const mayRead = context.status !== 201 || uris.some((uri) => new URL(uri).origin === origin);
    if (origin !== "" && mayRead) context.set("access-control-allow-origin", origin);
    if (context.status === 201) settings.emit({ type: "client-registered", clientId, address });
  };
}

/** Adds members to the metadata that the provider does not know. */
export function metadataMiddleware({ options }: Settings) {
  const scopes = [...new Set(options.resources.flatMap((one) => Object.keys(one.scopes)))];
  const more = {
    scopes_supported: [...scopes, "offline_access"],
    response_modes_supported: ["query"],
    protected_resources: options.resources.map(({ resource }) => resource),
  };
  return async (context: KoaContextWithOIDC, next: Next): Promise<void> => {
    await next();
    if (context.path.startsWith("/.well-known/") && context.status === 200) {
      context.body = { ...(context.body as object), ...more };
    }
  };
}

/** Publishes the signing keys as they are stored now: a process that started before a rotation knows its own only. */
export function keysMiddleware({ rows, reportError }: Settings) {
  let latest: readonly SigningJwk[] | undefined;
  return async (context: KoaContextWithOIDC, next: Next): Promise<void> => {
    await next();
    if (context.path !== "/jwks" || context.status !== 200) return;
    try {
      latest = await publicKeys(rows);
    } catch (error) {
      // The keys that are known still verify tokens, while the storage or its secret is missing.
      reportError(error);
    }
    if (latest) context.body = { keys: latest };
  };
}

export interface TokenMiddlewareParts {
  readonly redemptions: Redemptions;
  revokeGrant(grantId: string): Promise<void>;
}

/** Sends one response for each code and refresh token, revokes grants after a replay, and extends grants that are in use. */
export function tokenMiddleware(settings: Settings, { redemptions, revokeGrant }: TokenMiddlewareParts) {
  const { rows, emit, reportError, refreshTokenSeconds } = settings;

  async function keepAlive(grantId: string, clientId: string): Promise<void> {
    const ttlMs = refreshTokenSeconds * 1_000 + dayMs;
    const client = await rows.read<AdapterPayload>(await rows.keyOf("Client", clientId));
    await client?.replace(client.value, Math.max(ttlMs, usedClientMs));
    const grant = await rows.read<AdapterPayload>(await rows.keyOf("Grant", grantId));
    const exp = Math.floor((Date.now() + ttlMs) / 1_000);
    // Compare-and-set: a grant that was revoked in the meantime must not come back.
    if (!(await grant?.replace({ ...grant.value, exp }, ttlMs))) return;
    const record = await rows.read(await rows.keyOf("grant-record", grant?.value.accountId ?? "", clientId, grantId));
    await record?.replace(record.value, ttlMs);
  }

  /** Deletes tokens that no client has received. */
  async function deleteIssued({ oidc }: KoaContextWithOIDC, { id }: Redeemed): Promise<void> {
    const { RefreshToken: refreshToken, AccessToken: accessToken } = oidc.entities;
    for (const token of [refreshToken, accessToken]) if (token?.jti && token.jti !== id) await token.destroy();
  }

  /** Stores the response. If this fails, the tokens are withheld: if the response was stored, it is repeated later. */
  async function keep(context: KoaContextWithOIDC, redeemed: Redeemed): Promise<TokenResponse | undefined> {
    try {
      return await redemptions.keep(redeemed, context.body as TokenResponse);
    } catch (error) {
      await redemptions.release(redeemed).catch(reportError);
      throw error;
    }
  }

  /** Answers a request whose code or refresh token was used before. */
  async function secondUse(context: KoaContextWithOIDC, used: NonNullable<TokenState["usedBefore"]>): Promise<void> {
    const found = await redemptions.secondUse(used);
    if (found.type === "pending") return pending(context);
    if (found.type === "repeated") {
      context.status = 200;
      context.body = found.answer;
      return;
    }
    if (used.grantId !== undefined) await revokeGrant(used.grantId);
    const what = used.kind === "RefreshToken" ? "refresh-token" : "code";
    emit({ type: "replayed", what, clientId: context.oidc.client?.clientId ?? "" });
  }

  return async (context: KoaContextWithOIDC, next: Next): Promise<void> => {
    await next();
    if (context.path !== "/token" || context.method !== "POST") return;
    await reportLostToken(settings, context);
    const { redeemed, usedBefore } = context.state as TokenState;
    if (usedBefore && context.state["failure"] === undefined) return secondUse(context, usedBefore);
    if (context.status !== 200 || context.state["failure"] !== undefined) {
      // It has given nothing. If this fails, too, it can be used again a little later.
      const release = async (used: Redeemed) => {
        await redemptions.release(used);
        await deleteIssued(context, used);
      };
      if (redeemed) await release(redeemed).catch(reportError);
      return;
    }
    if (redeemed) {
      const kept = await keep(context, redeemed);
      const isOwn = kept?.refresh_token === (context.body as TokenResponse).refresh_token;
      const maySend = kept && (await redemptions.deliver(redeemed, kept, redeemed.row).catch(storedAnyway));
      if (!isOwn || !maySend) await deleteIssued(context, redeemed).catch(reportError);
      if (!maySend) return pending(context);
      context.body = kept;
    }
    const { Grant: grant, AuthorizationCode: code } = context.oidc.entities;
    if (!grant) return;
    const clientId = context.oidc.client?.clientId ?? "";
    // The tokens are issued: a failure from here on must not withhold them.
    await keepAlive(grant.jti, clientId).catch(reportError);
    emit({ type: code ? "token-issued" : "token-refreshed", subject: grant.accountId ?? "", clientId });
  };

  /** The response is stored, so that it is the only one for its token, whether this is noted or not. */
  function storedAnyway(error: unknown): true {
    reportError(error);
    return true;
  }
}

/** Asks the client to try again with the same code or refresh token. */
function pending(context: KoaContextWithOIDC): void {
  context.status = 503;
  context.set("retry-after", String(redemptionRetrySeconds));
  context.body = { error: "temporarily_unavailable", error_description: "another request uses the same token now" };
}

/** Sets security headers on every response; pages have their own. */
export async function headersMiddleware(context: KoaContextWithOIDC, next: Next): Promise<void> {
  await next();
  const isMetadata = context.path.startsWith("/.well-known/") || context.path === "/jwks";
  for (const [name, value] of Object.entries(pageHeaders)) {
    if (name === "cache-control" && isMetadata) continue;
    context.set(name, value);
  }
}
