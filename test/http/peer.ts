import type { JsonObject, RequestId } from "portolan";
import { metaKey, type RawResponse } from "../kit/raw-peer.ts";
import { isStateless, type RevisionDate } from "../kit/revisions.ts";
import {
  type Answer,
  clientInfo,
  type Headers,
  plainHeaders,
  send,
  toInitialize,
  toNotification,
  toRequest,
} from "./kit.ts";

export interface PeerOptions {
  readonly capabilities?: JsonObject;
  /** Sent with every request. */
  readonly headers?: Headers;
}

/** The optional parts of a request beside its params. */
type Rest = [id?: RequestId, headers?: Headers, signal?: AbortSignal];

/** The params of a call with a progress token. */
function toCall(name: string, args: JsonObject = {}, id: RequestId = 1): JsonObject {
  return { name, arguments: args, _meta: { progressToken: `token ${id}` } };
}

/** A client with a session. It sends the headers that its revision requires and no others. */
export class SessionPeer {
  readonly url: string;
  readonly revision: RevisionDate;
  readonly headers: Headers;
  readonly initialized: RawResponse;

  constructor(url: string, revision: RevisionDate, headers: Headers, initialized: RawResponse) {
    this.url = url;
    this.revision = revision;
    this.headers = headers;
    this.initialized = initialized;
  }

  get id(): string {
    return String(this.headers["mcp-session-id"]);
  }

  /** The same session at another address, or with other headers. */
  at(url: string, headers: Headers = {}): SessionPeer {
    return new SessionPeer(url, this.revision, { ...this.headers, ...headers }, this.initialized);
  }

  post(body: unknown, headers: Headers = {}, signal?: AbortSignal): Promise<Answer> {
    return send(this.url, { headers: { ...this.headers, ...headers }, body, signal });
  }

  request(method: string, params?: JsonObject, ...[id = 1, headers = {}, signal]: Rest): Promise<Answer> {
    return this.post(toRequest(method, params, id), headers, signal);
  }

  call(name: string, args?: JsonObject, ...rest: Rest): Promise<Answer> {
    return this.request("tools/call", toCall(name, args, rest[0]), ...rest);
  }

  /** The text of a tool's result. */
  async textOf(name: string, args?: JsonObject): Promise<string> {
    return textOf(await (await this.call(name, args)).response());
  }

  notify(method: string, params?: JsonObject): Promise<Answer> {
    return this.post(toNotification(method, params));
  }

  cancel(requestId: RequestId): Promise<Answer> {
    return this.notify("notifications/cancelled", { requestId });
  }

  /** Answers a question of the server. */
  answer(id: unknown, result: JsonObject): Promise<Answer> {
    return this.post({ jsonrpc: "2.0", id, result });
  }

  get(lastEventId?: string, headers: Headers = {}): Promise<Answer> {
    const resume = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    return send(this.url, { method: "GET", headers: { ...this.headers, ...resume, ...headers } });
  }

  delete(): Promise<Answer> {
    return send(this.url, { method: "DELETE", headers: this.headers });
  }
}

/** Begins a session as the revision requires. */
export async function begin(url: string, revision: RevisionDate, options: PeerOptions = {}): Promise<SessionPeer> {
  const headers = { ...plainHeaders, ...options.headers };
  const answer = await send(url, { headers, body: toInitialize(revision, options.capabilities) });
  const initialized = await answer.response();
  const session = answer.headers["mcp-session-id"];
  if (answer.status !== 200 || session === undefined) {
    throw new Error(`expected a session, got ${answer.status} ${JSON.stringify(initialized)}`);
  }
  const version = revision < "2025-06-18" ? {} : { "mcp-protocol-version": revision };
  const peer = new SessionPeer(
    url,
    revision,
    { ...headers, ...version, "mcp-session-id": String(session) },
    initialized,
  );
  await peer.notify("notifications/initialized");
  return peer;
}

const stateless = "2026-07-28";

/** The metadata of a request that describes itself. */
export function toMeta(more: JsonObject = {}, capabilities: JsonObject = {}): JsonObject {
  return {
    [metaKey("protocolVersion")]: stateless,
    [metaKey("clientCapabilities")]: capabilities,
    [metaKey("clientInfo")]: clientInfo,
    ...more,
  };
}

/** The headers that mirror a body. */
export function toHeaders(method: string, name?: string): Headers {
  return {
    ...plainHeaders,
    "mcp-protocol-version": stateless,
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": name }),
  };
}

/** A client whose requests describe themselves. */
export class StatelessPeer {
  readonly url: string;
  readonly options: PeerOptions;

  constructor(url: string, options: PeerOptions = {}) {
    this.url = url;
    this.options = options;
  }

  /** Sends a request with everything it needs; `headers` replace what would be sent, `undefined` leaves one out. */
  request(method: string, params: JsonObject = {}, ...[id = 1, headers = {}, signal]: Rest): Promise<Answer> {
    const name = params["name"] ?? params["uri"];
    const named = typeof name === "string" && method !== "completion/complete" ? name : undefined;
    const { capabilities, headers: always } = this.options;
    const _meta = toMeta(params["_meta"] as JsonObject | undefined, capabilities);
    return send(this.url, {
      headers: { ...toHeaders(method, named), ...always, ...headers },
      body: toRequest(method, { ...params, _meta }, id),
      signal,
    });
  }

  call(name: string, args?: JsonObject, ...rest: Rest): Promise<Answer> {
    return this.request("tools/call", toCall(name, args, rest[0]), ...rest);
  }

  /** The text of a tool's result. */
  async textOf(name: string, args?: JsonObject): Promise<string> {
    return textOf(await (await this.call(name, args)).response());
  }

  /** Sends a body as it is. */
  post(body: unknown, headers: Headers): Promise<Answer> {
    return send(this.url, { headers: { ...this.options.headers, ...headers }, body });
  }
}

export function textOf({ result, error }: RawResponse): string {
  if (error) throw new Error(`expected a result, got error ${error.code}: ${error.message}`);
  return result.content[0].text;
}

/** A client of any revision. */
export async function open(
  url: string,
  revision: RevisionDate,
  options?: PeerOptions,
): Promise<SessionPeer | StatelessPeer> {
  return isStateless(revision) ? new StatelessPeer(url, options) : begin(url, revision, options);
}
