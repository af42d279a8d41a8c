import type { AdapterPayload, KoaContextWithOIDC } from "oidc-provider";
import { pageHeaders } from "./pages/layout.ts";
import { problemPage } from "./pages/messages.ts";
import { isWithin } from "./rate-limit.ts";
import type { Rows } from "./rows.ts";
import type { Settings } from "./settings.ts";

const maxRegistration = 16 * 1024;
const day = 24 * 3_600_000;

type Next = () => Promise<unknown>;

/** Each one that is begun is kept for a while, so there must not be too many. */
const begunByAddress = { most: 600, windowMs: 10 * 60_000 };

/** Adds to an authorization request what its client may leave out; a page when it wants what is not done here. */
export function authorizing(settings: Settings) {
  return async (context: KoaContextWithOIDC, next: Next): Promise<void> => {
    if (context.path !== "/authorize") return void (await next());
    const { scope, resource, response_mode: mode } = context.query;
    const refuse = (status: number, what: string, detail?: string) => {
      context.status = status;
      context.type = "html";
      context.body = problemPage(settings.options.name, what, detail);
    };
    if (mode !== undefined && mode !== "query") {
      const what = "The app wants to be answered in a way that is not safe here.";
      return refuse(400, what, "response_mode: expected query");
    }
    if (!(await isWithin(settings.rows, "authorize", settings.addressOf(context.req), begunByAddress))) {
      return refuse(429, "There were too many requests from your network. Try again in ten minutes.");
    }
    const asked = [scope ?? []].flat().flatMap((one) => one.split(" ").filter((part) => part !== ""));
    // That access is to last says nothing of what it is access to.
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

interface Registered {
  readonly client_id?: string;
  readonly redirect_uris?: readonly string[];
}

/** Keeps registrations few and small, and lets a page in a browser register itself. */
export function registering(settings: Settings) {
  const { dynamic, perHour = 20 } = settings.options.registration ?? {};
  const limit = { most: perHour, windowMs: 3_600_000 };
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
    if ((context.request.length ?? Number.POSITIVE_INFINITY) > maxRegistration) {
      return refuse(
        413,
        "invalid_client_metadata",
        `expected at most ${maxRegistration} bytes, with their length said`,
      );
    }
    const address = settings.addressOf(context.req);
    if (!(await isWithin(settings.rows, "register", address, limit))) {
      context.set("retry-after", "3600");
      return refuse(429, "temporarily_unavailable", "there were too many registrations from this address");
    }
    await next();
    const { client_id: clientId = "", redirect_uris: uris = [] } = (context.body ?? {}) as Registered;
    context.vary("Origin");
    // What was registered is told to a page only if it is the one that the client will be sent back to.
    const mayRead = context.status !== 201 || uris.some((uri) => new URL(uri).origin === origin);
    if (origin !== "" && mayRead) context.set("access-control-allow-origin", origin);
    if (context.status === 201) settings.tell({ type: "client-registered", clientId, address });
  };
}

/** Metadata as it is here, beyond what the provider says by itself. */
export function describing({ options }: Settings) {
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

export interface Tokens {
  readonly answers: RefreshAnswers;
  revokeGrant(grantId: string): Promise<void>;
}

/** Gives the same answer twice where two came together, ends what a replay has given, and keeps alive what is used. */
export function issuing(settings: Settings, { answers, revokeGrant }: Tokens) {
  const { rows, tell, refreshTokenSeconds } = settings;

  async function keepAlive(grantId: string, clientId: string): Promise<void> {
    const ttlMs = refreshTokenSeconds * 1_000 + day;
    const client = await rows.read<AdapterPayload>(await rows.keyOf("Client", clientId));
    await client?.replace(client.value, Math.max(ttlMs, 90 * day));
    const grant = await rows.read<AdapterPayload>(await rows.keyOf("Grant", grantId));
    const exp = Math.floor((Date.now() + ttlMs) / 1_000);
    // Only if it is still there: a grant that was revoked meanwhile must not come back.
    if (!(await grant?.replace({ ...grant.value, exp }, ttlMs))) return;
    const held = await rows.read(await rows.keyOf("held", grant?.value.accountId ?? "", clientId, grantId));
    await held?.replace(held.value, ttlMs);
  }

  return async (context: KoaContextWithOIDC, next: Next): Promise<void> => {
    await next();
    if (context.path !== "/token" || context.method !== "POST") return;
    const clientId = context.oidc.client?.clientId ?? "";
    const second = cameSecond(context);
    if (second) {
      const answer = second.kind === "RefreshToken" ? await answers.find(second.id) : undefined;
      if (answer !== undefined) {
        context.status = 200;
        context.body = answer;
        return;
      }
      if (second.grantId !== undefined) await revokeGrant(second.grantId);
      const what = second.kind === "RefreshToken" ? "refresh-token" : "code";
      return tell({ type: "replayed", what, clientId });
    }
    if (context.status !== 200) return;
    const { RotatedRefreshToken: rotated, Grant: grant, AuthorizationCode: code } = context.oidc.entities;
    if (rotated) await answers.keep(rotated.jti, context.body);
    if (!grant) return;
    await keepAlive(grant.jti, clientId);
    tell({ type: code ? "token-issued" : "token-refreshed", subject: grant.accountId ?? "", clientId });
  };
}

/** Headers of every answer; pages bring their own. */
export async function guarding(context: KoaContextWithOIDC, next: Next): Promise<void> {
  await next();
  const isMetadata = context.path.startsWith("/.well-known/") || context.path === "/jwks";
  for (const [name, value] of Object.entries(pageHeaders)) {
    if (name === "cache-control" && isMetadata) continue;
    context.set(name, value);
  }
}

/** How long the answer to a refresh is given again to whoever shows the same token. */
export const repeatMs = 10_000;
const patienceMs = 5_000;

/** Keeps the answers to refreshes for a little while: of two that come together, or again, both get the same one. */
export class RefreshAnswers {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  async keep(token: string, answer: unknown): Promise<void> {
    const key = await this.#rows.keyOf("refreshed", token);
    await this.#rows.set(key, answer, repeatMs);
    await this.#rows.storage.bus.publish(key, "");
  }

  /** The answer to whoever came first with this token; undefined when there is none in time. */
  async find(token: string): Promise<unknown> {
    const key = await this.#rows.keyOf("refreshed", token);
    let heard = (): void => {};
    const isThere = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const unsubscribe = await this.#rows.storage.bus.subscribe(key, heard, heard);
    const timer = setTimeout(heard, patienceMs);
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

/** A refresh token that was used already when a request came with it. */
export interface CameSecond {
  readonly kind: string;
  readonly id: string;
  readonly grantId: string | undefined;
}

export function cameSecond(context: KoaContextWithOIDC): CameSecond | undefined {
  return context.state["cameSecond"] as CameSecond | undefined;
}
