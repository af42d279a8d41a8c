import type { Context, FullResult, RequestContext } from "portolan/server";
import {
  ConfirmedChanges,
  failureOfStatus,
  fixedToken,
  fromCursor,
  noToken,
  type Service,
  ServiceClient,
  type ServiceFailure,
  type ServiceResponse,
  settingsFrom,
  toApi,
  toCursor,
} from "portolan-server-kit/service";
import { defaultLimits, type SlackLimits, type SlackOptions } from "./options.ts";

/** Slack, as its Web API documents it. */
const service: Service = {
  name: "Slack",
  api: "https://slack.com/api",
  apiVariable: "SLACK_API_URL",
  tokenVariable: "SLACK_TOKEN",
  tokenPage: "https://api.slack.com/apps",
  failureOf,
};

/** What people need to know of the service. */
export const about: {
  readonly api: string;
  readonly apiVariable: string;
  readonly tokenVariable: string;
  readonly tokenPage: string;
} = service;

/** Reads the address and the token that a person has set in the environment. */
export function environmentSettings(): { readonly api: string; readonly token?: string } {
  return settingsFrom(service);
}

// The declarations of this package must not need those of the kit, which is bundled.

/** The part of a handler's context that a request needs: who asks, until when, and where to report a wait. */
export type CallerContext = Pick<RequestContext<unknown>, "principal" | "signal" | "status">;

/** Values of a query; undefined leaves a value out. */
export interface QueryValues {
  readonly [name: string]: string | number | boolean | undefined;
}

const kinds: { readonly [error: string]: "signed-out" | "not-found" | "forbidden" | "conflict" | "unavailable" } = {
  ...{ not_authed: "signed-out", invalid_auth: "signed-out", account_inactive: "signed-out" },
  ...{ token_revoked: "signed-out", token_expired: "signed-out" },
  ...{ channel_not_found: "not-found", user_not_found: "not-found", thread_not_found: "not-found" },
  ...{ message_not_found: "not-found", file_not_found: "not-found" },
  ...{
    not_in_channel: "forbidden",
    is_archived: "forbidden",
    restricted_action: "forbidden",
    no_permission: "forbidden",
  },
  ...{ access_denied: "forbidden", not_allowed_token_type: "forbidden", ekm_access_denied: "forbidden" },
  already_reacted: "conflict",
  ...{ internal_error: "unavailable", fatal_error: "unavailable", service_unavailable: "unavailable" },
};

/** Slack answers most failures with status 200 and the name of an error. */
function failureOf(response: ServiceResponse): ServiceFailure | undefined {
  const { ok, error, needed } = (response.json ?? {}) as { readonly [member: string]: unknown };
  const plain = failureOfStatus(response);
  if (plain?.kind === "rate-limited") return plain;
  if (ok === true) return undefined;
  if (typeof error !== "string")
    return plain ?? { kind: "unavailable", says: "its response is not JSON of the Web API" };
  if (error === "missing_scope") return { kind: "scope-missing", scopes: String(needed ?? "").split(","), says: error };
  return { kind: error === "ratelimited" ? "rate-limited" : (kinds[error] ?? "invalid"), says: error };
}

/** Which page of a list to read. */
export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

const defaultPageSize = 50;

/** What the tools and resources share: the client of the service, the limits, and the consents of users. */
export class Slack {
  readonly limits: SlackLimits;
  readonly isReadOnly: boolean;
  /** The user is asked before every change. */
  readonly asks: boolean;
  readonly #client: ServiceClient;
  readonly #changes: ConfirmedChanges;

  constructor({ account, api, readOnly = false, ask = true, limits }: SlackOptions) {
    this.limits = { ...defaultLimits, ...limits };
    this.isReadOnly = readOnly;
    this.asks = ask;
    this.#changes = new ConfirmedChanges(service, { asks: ask });
    this.#client = new ServiceClient(service, {
      tokens: account === undefined ? noToken(service) : fixedToken(service, account),
      isReadOnly: readOnly,
      api: api === undefined ? service.api : toApi(api, "api"),
      limits: this.limits,
    });
  }

  /** Calls a method that only reads. Slack takes all arguments as a form. */
  async read<T>(method: string, form: QueryValues, ctx: CallerContext): Promise<T> {
    return (await this.#client.request({ path: `/${method}`, form, isReading: true }, ctx)).json as T;
  }

  /** Reads a page of a list. The arguments must have everything that decides what is in the list. */
  async readPage<T>(
    method: string,
    form: QueryValues,
    { limit = defaultPageSize, cursor }: PageRequest,
    ctx: CallerContext,
  ): Promise<{ readonly found: T; readonly cursor?: string }> {
    const list = [method, form, limit];
    const position = cursor === undefined ? undefined : fromCursor(list, cursor);
    const found = await this.read<T & { readonly response_metadata?: { readonly next_cursor?: string } }>(
      method,
      { ...form, limit, cursor: position },
      ctx,
    );
    const next = found.response_metadata?.next_cursor;
    return { found, ...(next && { cursor: toCursor(list, next) }) };
  }

  /** Calls a method that changes something. */
  async write<T>(method: string, form: QueryValues, ctx: CallerContext): Promise<T> {
    return (await this.#client.request({ path: `/${method}`, form }, ctx)).json as T;
  }

  /** Makes a change after the user has agreed. */
  change<T>(ctx: Context, question: string, effect: () => Promise<FullResult<T>>): Promise<FullResult<T>> {
    return this.#changes.run(ctx, question, effect);
  }
}
