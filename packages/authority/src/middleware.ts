import type { AdapterPayload, KoaContextWithOIDC } from "oidc-provider";
import { toFailureResponse } from "./failure.ts";
import { publicKeys, type SigningJwk } from "./keys.ts";
import {
  authorizationLimit,
  authorizationSizeLimit,
  dayMs,
  defaultRegistrationsPerHour,
  maxRegistrationBytes,
  refreshRepeatMs,
  refreshWaitMs,
  usedClientMs,
} from "./limits.ts";
import { reportLostSignIn, reportLostToken } from "./lost.ts";
import { pageHeaders } from "./pages/layout.ts";
import { errorPage } from "./pages/messages.ts";
import { tryConsume } from "./rate-limit.ts";
import type { Rows } from "./rows.ts";
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
  readonly responses: RefreshResponses;
  revokeGrant(grantId: string): Promise<void>;
}

/** Repeats the response for parallel refreshes, revokes grants after a replay, and extends grants that are in use. */
export function tokenMiddleware(settings: Settings, { responses, revokeGrant }: TokenMiddlewareParts) {
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

  /** Lets the client try again with a token for which it got no other one. */
  async function unconsume(id: string): Promise<void> {
    const row = await rows.read<AdapterPayload>(await rows.keyOf("RefreshToken", id));
    const { consumed, ...unused } = row?.value ?? {};
    if (consumed !== undefined) await row?.replace(unused);
  }

  return async (context: KoaContextWithOIDC, next: Next): Promise<void> => {
    await next();
    if (context.path !== "/token" || context.method !== "POST") return;
    await reportLostToken(settings, context);
    if (context.state["failure"] !== undefined) {
      const { RotatedRefreshToken: used } = context.oidc.entities;
      if (used) await unconsume(used.jti).catch(reportError);
      return;
    }
    const clientId = context.oidc.client?.clientId ?? "";
    const second = replayedToken(context);
    if (second) {
      const answer = second.kind === "RefreshToken" ? await responses.find(second.id) : undefined;
      if (answer !== undefined) {
        context.status = 200;
        context.body = answer;
        return;
      }
      if (second.grantId !== undefined) await revokeGrant(second.grantId);
      const what = second.kind === "RefreshToken" ? "refresh-token" : "code";
      return emit({ type: "replayed", what, clientId });
    }
    if (context.status !== 200) return;
    const { RotatedRefreshToken: rotated, Grant: grant, AuthorizationCode: code } = context.oidc.entities;
    // The tokens are issued, and the old one is used up: a failure from here on must not withhold them.
    if (rotated) await responses.keep(rotated.jti, context.body).catch(reportError);
    if (!grant) return;
    await keepAlive(grant.jti, clientId).catch(reportError);
    emit({ type: code ? "token-issued" : "token-refreshed", subject: grant.accountId ?? "", clientId });
  };
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

/** Keeps responses to refreshes for a short time, so that parallel or repeated requests get the same one. */
export class RefreshResponses {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  async keep(token: string, answer: unknown): Promise<void> {
    const key = await this.#rows.keyOf("refreshed", token);
    await this.#rows.set(key, answer, refreshRepeatMs);
    await this.#rows.storage.bus.publish(key, "");
  }

  /** Returns the response to the first request with this token; `undefined` if there is none in time. */
  async find(token: string): Promise<unknown> {
    const key = await this.#rows.keyOf("refreshed", token);
    let heard = (): void => {};
    const isThere = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const unsubscribe = await this.#rows.storage.bus.subscribe(key, heard, heard);
    const timer = setTimeout(heard, refreshWaitMs);
    try {
      const known = await this.#rows.get(key);
      if (known !== undefined) return known;
      await isThere;
      return await this.#rows.get(key);
    } finally {
      clearTimeout(timer);
      await unsubscribe();
    }
  }
}

/** A code or refresh token that was already used when the request arrived. */
export interface ReplayedToken {
  readonly kind: string;
  readonly id: string;
  readonly grantId: string | undefined;
}

export function replayedToken(context: KoaContextWithOIDC): ReplayedToken | undefined {
  return context.state["replayedToken"] as ReplayedToken | undefined;
}
