import { ToolError } from "portolan/server";
import {
  type CallerContext,
  failureOfStatus,
  fromCursor,
  type ListPage,
  type PageRequest,
  type Service,
  ServiceAccess,
  type ServiceFailure,
  type ServiceOptions,
  type ServiceResponse,
  type ServiceValues,
  toCursor,
} from "portolan-server-kit/service";

/** Asana, as its REST API documents it. */
export const service: Service = {
  name: "Asana",
  api: "https://app.asana.com/api/1.0",
  apiVariable: "ASANA_API_URL",
  tokenVariable: "ASANA_TOKEN",
  tokenOwner: "your account",
  tokenPage: "https://app.asana.com/0/my-apps",
  failureOf,
};

/** The names of permissions in a sentence of Asana. */
const scopeName = /\b[a-z_.]+:(?:read|write|delete)\b/g;

function failureOf(response: ServiceResponse): ServiceFailure | undefined {
  const { status } = response;
  const plain = failureOfStatus(response);
  if (!plain) return undefined;
  const says = sentenceOf(response.json);
  const said = { ...(says !== undefined && { says }) };
  const scopes = status === 403 ? [...new Set(says?.match(scopeName))] : [];
  if (scopes.length > 0) return { kind: "scope-missing", scopes, ...said };
  // A paid plan is needed, or a law forbids it.
  if (status === 402 || status === 451) return { kind: "forbidden", ...said };
  return { ...plain, ...said };
}

/** Returns Asana's own sentences. */
function sentenceOf(json: unknown): string | undefined {
  const { errors } = (json ?? {}) as { readonly errors?: unknown };
  if (!Array.isArray(errors)) return undefined;
  const messages = errors.flatMap((one: { readonly message?: unknown } | null) =>
    typeof one?.message === "string" ? one.message : [],
  );
  return messages.length === 0 ? undefined : messages.join("; ");
}

/** Entries on a page. */
export const pageSize: { readonly default: number; readonly max: number } = { default: 50, max: 100 };

/** Reading with these fields returns whole records; without any, Asana returns names only. */
export interface Fields {
  readonly fields: readonly string[];
}

/** The requests of the tools and resources. */
export class Asana {
  readonly access: ServiceAccess;

  constructor(options: ServiceOptions) {
    this.access = new ServiceAccess(service, options);
  }

  /** Reads a record. */
  async read<T>(path: string, ctx: CallerContext, { fields }: Fields, query: ServiceValues = {}): Promise<T> {
    const all = { ...query, opt_fields: fields.join(",") };
    return dataOf<T>(await this.access.client.request({ path, query: all }, ctx));
  }

  /** Reads a page of a list. The query must have everything that decides what is in the list. */
  async readPage<R, T>(
    path: string,
    ctx: CallerContext,
    { fields }: Fields,
    { query = {}, limit = pageSize.default, cursor }: PageRequest & { readonly query?: ServiceValues },
    toItem: (raw: R) => T,
  ): Promise<ListPage<T>> {
    const list = [path, query, limit];
    const offset = cursor === undefined ? undefined : fromCursor(list, cursor);
    const all = { ...query, limit, offset, opt_fields: fields.join(",") };
    const response = await this.access.client.request({ path, query: all }, ctx);
    const items = listOf<R>(response).map(toItem);
    const next = (response.json as { readonly next_page?: { readonly offset?: string } | null }).next_page?.offset;
    return { items, ...(next !== undefined && { cursor: toCursor(list, next) }) };
  }

  /** Reads one page of a list that has no cursors. */
  async readSome<R>(path: string, ctx: CallerContext, { fields }: Fields, query: ServiceValues): Promise<readonly R[]> {
    const all = { ...query, opt_fields: fields.join(",") };
    return listOf<R>(await this.access.client.request({ path, query: all }, ctx));
  }

  /** Changes something. Returns the changed record. */
  async write<T>(method: "POST" | "PUT", path: string, data: object, ctx: CallerContext, fields: Fields): Promise<T> {
    const query = { opt_fields: fields.fields.join(",") };
    return dataOf<T>(await this.access.client.request({ method, path, query, json: { data } }, ctx));
  }

  /** Attaches a file to a task. */
  async attach<T>(
    task: string,
    { name, bytes }: { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> },
    ctx: CallerContext,
    { fields }: Fields,
  ): Promise<T> {
    const form = new FormData();
    form.set("parent", task);
    // Asana reads names that are encoded like a part of an address.
    form.set("file", new Blob([bytes]), encodeURIComponent(name));
    const encoded = new Response(form);
    const mediaType = encoded.headers.get("content-type") ?? "";
    const content = { mediaType, body: new Uint8Array(await encoded.arrayBuffer()) };
    const query = { opt_fields: fields.join(",") };
    return dataOf<T>(await this.access.client.request({ path: "/attachments", query, content }, ctx));
  }
}

/** Returns the record of a response. Throws if there is none: something else has answered, such as a proxy. */
function dataOf<T>({ json }: ServiceResponse): T {
  const { data } = (json ?? {}) as { readonly data?: unknown };
  if (typeof data === "object" && data !== null) return data as T;
  throw new ToolError("Asana's response is not JSON of its API. Check the address of the API, then try again");
}

function listOf<T>(response: ServiceResponse): readonly T[] {
  const data = dataOf<unknown>(response);
  if (Array.isArray(data)) return data;
  throw new ToolError("Asana's response is not a list. Try again later");
}
