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
import { type Message, type RawFile, type RawMessage, type SharedFile, toFile, toMessage } from "./shapes.ts";

/** Slack, as its Web API documents it. */
export const service: Service = {
  name: "Slack",
  api: "https://slack.com/api",
  otherOrigins: ["https://files.slack.com"],
  apiVariable: "SLACK_API_URL",
  tokenVariable: "SLACK_TOKEN",
  tokenOwner: "your app or account",
  tokenPage: "https://api.slack.com/apps",
  failureOf,
};

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

/** Returns true for the name of an error after which only another token helps. */
export function isSignedOut(error: unknown): boolean {
  return typeof error === "string" && kinds[error] === "signed-out";
}

/** Slack answers most failures with status 200 and the name of an error. */
function failureOf(response: ServiceResponse): ServiceFailure | undefined {
  // Files are not answers of the Web API.
  if (response.url.pathname.startsWith("/files-") || response.url.pathname.startsWith("/upload/")) {
    return failureOfStatus(response);
  }
  const { ok, error, needed } = (response.json ?? {}) as { readonly [member: string]: unknown };
  const plain = failureOfStatus(response);
  if (plain?.kind === "rate-limited") return plain;
  if (ok === true) return undefined;
  if (typeof error !== "string")
    return plain ?? { kind: "unavailable", says: "its response is not JSON of the Web API" };
  if (error === "missing_scope") return { kind: "scope-missing", scopes: String(needed ?? "").split(","), says: error };
  if (error === "ratelimited") return { kind: "rate-limited", says: error };
  // The name of an error that comes with an outage may be any.
  return { kind: kinds[error] ?? (plain?.kind === "unavailable" ? "unavailable" : "invalid"), says: error };
}

/** Entries on a page. */
export const pageSize: { readonly default: number; readonly max: number } = { default: 50, max: 200 };

/** The channels that people see in a list. */
export const visibleChannels: ServiceValues = { types: "public_channel,private_channel", exclude_archived: true };

/** Where a file is shared. */
interface FileShare extends ServiceValues {
  readonly channel_id: string;
  readonly initial_comment?: string | undefined;
  readonly thread_ts?: string | undefined;
}

interface FileList {
  readonly files: readonly RawFile[];
  readonly paging?: { readonly pages: number };
}

interface Paged {
  readonly response_metadata?: { readonly next_cursor?: string };
}

/** The calls of the tools and resources. */
export class Slack {
  readonly access: ServiceAccess;

  constructor(options: ServiceOptions) {
    // A page has many messages.
    this.access = new ServiceAccess(service, options, { maxChars: 4_000 });
  }

  /** Calls a method that only reads. Slack takes all arguments as a form. */
  async read<T>(method: string, form: ServiceValues, ctx: CallerContext): Promise<T> {
    return (await this.access.client.request({ path: `/${method}`, form, isReading: true }, ctx)).json as T;
  }

  /**
   * Reads a page of a list. `toItems` finds the items in the answer. The arguments must have everything that decides what is
   * in the list.
   */
  async readPage<A, T>(
    method: string,
    form: ServiceValues,
    { limit = pageSize.default, cursor }: PageRequest,
    ctx: CallerContext,
    toItems: (answer: A) => readonly T[],
  ): Promise<ListPage<T>> {
    const list = [method, form, limit];
    const position = cursor === undefined ? undefined : fromCursor(list, cursor);
    const answer = await this.read<A & Paged>(method, { ...form, limit, cursor: position }, ctx);
    const next = answer.response_metadata?.next_cursor;
    return { items: toItems(answer), ...(next && { cursor: toCursor(list, next) }) };
  }

  /** Reads a page of messages. */
  readMessages(method: string, form: ServiceValues, page: PageRequest, ctx: CallerContext): Promise<ListPage<Message>> {
    return this.readPage(method, form, page, ctx, ({ messages }: { messages: RawMessage[] }) =>
      messages.map((one) => toMessage(one, this.access.limits.maxChars)),
    );
  }

  /** Lists files, newest first. Slack numbers the pages of this list. */
  async readFiles(
    form: ServiceValues,
    { limit = pageSize.default, cursor }: PageRequest,
    ctx: CallerContext,
  ): Promise<ListPage<SharedFile>> {
    const list = ["files.list", form, limit];
    const page = cursor === undefined ? 1 : Number(fromCursor(list, cursor));
    const answer = await this.read<FileList>("files.list", { ...form, count: limit, page }, ctx);
    const isLast = page >= (answer.paging?.pages ?? 1);
    return { items: answer.files.map(toFile), ...(!isLast && { cursor: toCursor(list, page + 1) }) };
  }

  /** Downloads a file. */
  async download(address: string, ctx: CallerContext): Promise<Uint8Array> {
    if (!URL.canParse(address)) throw new ToolError("Slack gives no address for the content of this file");
    const { bytes, headers } = await this.access.client.request({ path: new URL(address) }, ctx);
    // Without the permission Slack sends the page for signing in.
    if (!headers.get("content-type")?.startsWith("text/html")) return bytes;
    throw new ToolError("Slack does not give this file to this account; the token may lack the permission files:read");
  }

  /** Uploads a file and shares it in a channel. Returns its id. */
  async upload(
    { name, bytes }: { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> },
    share: FileShare,
    ctx: CallerContext,
  ): Promise<string> {
    const place = { filename: name, length: bytes.length };
    // The file is visible after the last step only, which alone must not be sent twice.
    const begun = await this.#begin<{ upload_url: string; file_id: string }>("files.getUploadURLExternal", place, ctx);
    if (!URL.canParse(begun.upload_url)) throw new ToolError("Slack gave no address for the upload. Try again later");
    const address = new URL(begun.upload_url);
    const content = { mediaType: "application/octet-stream", body: bytes };
    await this.access.client.request({ path: address, content, isPublic: true, isRepeatable: true }, ctx);
    const files = JSON.stringify([{ id: begun.file_id, title: name }]);
    await this.write("files.completeUploadExternal", { files, ...share }, ctx);
    return begun.file_id;
  }

  async #begin<T>(method: string, form: ServiceValues, ctx: CallerContext): Promise<T> {
    return (await this.access.client.request({ path: `/${method}`, form, isRepeatable: true }, ctx)).json as T;
  }

  /** Calls a method that changes something. */
  async write<T>(method: string, form: ServiceValues, ctx: CallerContext): Promise<T> {
    return (await this.access.client.request({ path: `/${method}`, form }, ctx)).json as T;
  }
}
