import { type Context, type FullResult, type RequestContext, ToolError } from "portolan/server";
import {
  ConfirmedChanges,
  failureOfStatus,
  fixedToken,
  fromCursor,
  nextPageOf,
  noToken,
  personalTokens,
  retryAfter,
  type Service,
  ServiceClient,
  type ServiceFailure,
  type ServiceResponse,
  settingsFrom,
  toApi,
  toCursor,
} from "portolan-server-kit/service";
import { defaultLimits, type GithubLimits, type GithubOptions } from "./options.ts";

/** GitHub asks callers to wait this long after a secondary limit that names no time. */
const secondaryLimitMs = 60_000;

/** GitHub, as its REST API documents it. */
const service: Service = {
  name: "GitHub",
  api: "https://api.github.com",
  headers: { accept: "application/vnd.github+json", "x-github-api-version": "2022-11-28" },
  apiVariable: "GITHUB_API_URL",
  tokenVariable: "GITHUB_TOKEN",
  tokenPage: "https://github.com/settings/personal-access-tokens",
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

/** A response, read whole. */
export interface GithubResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
}

/** Values of a query; undefined leaves a value out. */
export interface QueryValues {
  readonly [name: string]: string | number | boolean | undefined;
}

function failureOf(response: ServiceResponse): ServiceFailure | undefined {
  const { status, headers } = response;
  if (status < 400) return undefined;
  const says = sentenceOf(response.json);
  const plain = failureOfStatus(response) ?? { kind: "invalid" };
  const said = { ...(says !== undefined && { says }) };
  if (status === 403 || status === 429) {
    const waitMs = limitOf(headers, says);
    if (waitMs !== undefined) return { kind: "rate-limited", waitMs, ...said };
    const scopes = missingScopes(headers);
    if (scopes.length > 0) return { kind: "scope-missing", scopes, ...said };
  }
  // A merge that is not possible, and a branch that has moved, are conflicts.
  if (status === 405) return { kind: "conflict", ...said };
  return { ...plain, ...said };
}

/** Returns how long a limit lasts: the secondary one by its header, the primary one by the time of its reset. */
function limitOf(headers: Headers, says = ""): number | undefined {
  const waitMs = retryAfter(headers);
  if (waitMs !== undefined) return waitMs;
  if (headers.get("x-ratelimit-remaining") === "0") {
    const reset = Number(headers.get("x-ratelimit-reset")) * 1000;
    // The clock of the service counts, not that of this machine.
    const now = Date.parse(headers.get("date") ?? "") || Date.now();
    return Math.max(1_000, reset - now);
  }
  return /secondary rate limit/i.test(says) ? secondaryLimitMs : undefined;
}

/** Returns what GitHub would accept, if the token has none of it. */
function missingScopes(headers: Headers): string[] {
  const permissions = headers.get("x-accepted-github-permissions");
  if (permissions) return permissions.split(";").map((one) => one.trim());
  const list = (name: string) => (headers.get(name) ?? "").split(",").flatMap((one) => one.trim() || []);
  const accepted = list("x-accepted-oauth-scopes");
  const held = list("x-oauth-scopes");
  return accepted.some((scope) => held.includes(scope)) ? [] : accepted;
}

/** Returns GitHub's own sentence, with the details of a validation. */
function sentenceOf(json: unknown): string | undefined {
  const { message, errors } = (json ?? {}) as { readonly message?: unknown; readonly errors?: unknown };
  if (typeof message !== "string") return undefined;
  const details = Array.isArray(errors) ? errors.flatMap((one) => detailOf(one) ?? []) : [];
  return [message, ...details].join("; ");
}

function detailOf(error: unknown): string | undefined {
  if (typeof error === "string") return error;
  const { field, code, message } = (error ?? {}) as { readonly [member: string]: unknown };
  const words = [field, message ?? code].filter((word) => typeof word === "string");
  return words.length === 0 ? undefined : words.join(": ");
}

/** A page of a list. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; absent at the end. */
  readonly cursor?: string;
}

/** Which page of a list to read. */
export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

const defaultPageSize = 30;

/** What the tools, resources and prompts share: the client of the service, the limits, and the consents of users. */
export class Github {
  readonly limits: GithubLimits;
  readonly isReadOnly: boolean;
  /** All callers use the same account. */
  readonly isShared: boolean;
  /** The user is asked before every change. */
  readonly asks: boolean;
  readonly #client: ServiceClient;
  readonly #changes: ConfirmedChanges;

  constructor({ account, api, readOnly = false, ask = true, limits }: GithubOptions) {
    this.limits = { ...defaultLimits, ...limits };
    this.isReadOnly = readOnly;
    this.asks = ask;
    this.#changes = new ConfirmedChanges(service, { asks: ask });
    const tokens =
      account === undefined
        ? noToken(service)
        : typeof account === "string"
          ? fixedToken(service, account)
          : personalTokens(service, account);
    this.isShared = tokens.isShared;
    this.#client = new ServiceClient(service, {
      tokens,
      isReadOnly: readOnly,
      api: api === undefined ? service.api : toApi(api, "api"),
      limits: this.limits,
    });
  }

  /** Reads JSON. */
  async read<T>(path: string, ctx: CallerContext, query: QueryValues = {}): Promise<T> {
    return toJson<T>(await this.#client.request({ path, query }, ctx));
  }

  /** Reads content in a media type of GitHub, such as `diff` or `raw`. */
  async readAs(mediaType: string, path: string, ctx: CallerContext, query: QueryValues = {}): Promise<GithubResponse> {
    const headers = { accept: `application/vnd.github.${mediaType}` };
    return this.#client.request({ path, query, headers }, ctx);
  }

  /** Asks whether something has changed since the response with this ETag. */
  async readIfChanged(path: string, ctx: CallerContext, etag: string | undefined): Promise<GithubResponse> {
    const headers: { [name: string]: string } = etag === undefined ? {} : { "if-none-match": etag };
    return this.#client.request({ path, headers }, ctx);
  }

  /**
   * Reads a page of a list. `toItems` finds the items in the response. The query must have everything that decides what is
   * in the list.
   */
  async readPage<T>(
    path: string,
    ctx: CallerContext,
    { query = {}, limit = defaultPageSize, cursor }: PageRequest & { readonly query?: QueryValues },
    toItems: (json: unknown) => readonly T[],
    mediaType = "+json",
  ): Promise<ListPage<T>> {
    const list = [path, query, limit];
    const page = cursor === undefined ? undefined : fromCursor(list, cursor);
    const headers = { accept: `application/vnd.github${mediaType}` };
    const response = await this.#client.request({ path, headers, query: { ...query, per_page: limit, page } }, ctx);
    const next = nextPageOf(response.headers.get("link"));
    return { items: toItems(toJson(response)), ...(next !== undefined && { cursor: toCursor(list, next) }) };
  }

  /** Changes something. */
  async write<T>(method: "POST" | "PATCH" | "PUT", path: string, json: object, ctx: CallerContext): Promise<T> {
    return toJson<T>(await this.#client.request({ method, path, json }, ctx));
  }

  /** Makes a change after the user has agreed. */
  change<T>(ctx: Context, question: string, effect: () => Promise<FullResult<T>>): Promise<FullResult<T>> {
    return this.#changes.run(ctx, question, effect);
  }
}

/** Returns the body of a response. Throws if it is not JSON: something else has answered, such as a proxy. */
function toJson<T>({ json }: GithubResponse): T {
  if (typeof json === "object" && json !== null) return json as T;
  throw new ToolError("GitHub's response is not JSON. Check the address of the API, then try again");
}
