import { ToolError } from "portolan/server";
import {
  type CallerContext,
  failureOfStatus,
  fromCursor,
  type ListPage,
  nextPageOf,
  type PageRequest,
  retryAfter,
  type Service,
  ServiceAccess,
  type ServiceFailure,
  type ServiceOptions,
  type ServiceResponse,
  type ServiceValues,
  toCursor,
} from "portolan-server-kit/service";

/** GitHub asks callers to wait this long after a secondary limit that names no time. */
const secondaryLimitMs = 60_000;

/** GitHub, as its REST API documents it. */
export const service: Service = {
  name: "GitHub",
  api: "https://api.github.com",
  apiExample: "https://github.example.com/api/v3",
  headers: { accept: "application/vnd.github+json", "x-github-api-version": "2022-11-28" },
  apiVariable: "GITHUB_API_URL",
  tokenVariable: "GITHUB_TOKEN",
  tokenOwner: "your account",
  tokenPage: "https://github.com/settings/personal-access-tokens",
  failureOf,
};

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

/** Entries on a page. */
export const pageSize: { readonly default: number; readonly max: number } = { default: 30, max: 100 };

/** The requests of the tools, resources and prompts. */
export class Github {
  readonly access: ServiceAccess;

  constructor(options: ServiceOptions) {
    this.access = new ServiceAccess(service, options);
  }

  /** Reads JSON. */
  async read<T>(path: string, ctx: CallerContext, query: ServiceValues = {}): Promise<T> {
    return toJson<T>(await this.access.client.request({ path, query }, ctx));
  }

  /** Reads content in a media type of GitHub, such as `diff` or `raw`. */
  async readAs(
    mediaType: string,
    path: string,
    ctx: CallerContext,
    query: ServiceValues = {},
  ): Promise<ServiceResponse> {
    const headers = { accept: `application/vnd.github.${mediaType}` };
    return this.access.client.request({ path, query, headers }, ctx);
  }

  /** Asks whether something has changed since the response with this ETag. */
  async readIfChanged(path: string, ctx: CallerContext, etag: string | undefined): Promise<ServiceResponse> {
    const headers: { [name: string]: string } = etag === undefined ? {} : { "if-none-match": etag };
    return this.access.client.request({ path, headers }, ctx);
  }

  /**
   * Reads a page of a list. `toItems` finds the items in the response. The query must have everything that decides what is
   * in the list.
   */
  async readPage<T>(
    path: string,
    ctx: CallerContext,
    { query = {}, limit = pageSize.default, cursor }: PageRequest & { readonly query?: ServiceValues },
    toItems: (json: unknown) => readonly T[],
    mediaType = "+json",
  ): Promise<ListPage<T>> {
    const list = [path, query, limit];
    const page = cursor === undefined ? undefined : fromCursor(list, cursor);
    const headers = { accept: `application/vnd.github${mediaType}` };
    const response = await this.access.client.request(
      { path, headers, query: { ...query, per_page: limit, page } },
      ctx,
    );
    const next = nextPageOf(response.headers.get("link"));
    return { items: toItems(toJson(response)), ...(next !== undefined && { cursor: toCursor(list, next) }) };
  }

  /** Changes something. */
  async write<T>(method: "POST" | "PATCH" | "PUT", path: string, json: object, ctx: CallerContext): Promise<T> {
    return toJson<T>(await this.access.client.request({ method, path, json }, ctx));
  }
}

/** Returns the body of a response. Throws if it is not JSON: something else has answered, such as a proxy. */
function toJson<T>({ json }: ServiceResponse): T {
  if (typeof json === "object" && json !== null) return json as T;
  throw new ToolError("GitHub's response is not JSON. Check the address of the API, then try again");
}
