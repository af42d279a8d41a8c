// A fake of Slack on loopback: the methods of its Web API that a server needs, with cursors, limits, errors and state.
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

interface UserState {
  readonly id: string;
  readonly name: string;
}

interface MessageState {
  readonly ts: string;
  readonly user: string;
  readonly text: string;
  readonly thread_ts?: string;
  readonly reactions: { readonly name: string; readonly users: string[] }[];
}

export interface ChannelState {
  readonly id: string;
  readonly name: string;
  readonly isPrivate: boolean;
  readonly members: string[];
  readonly messages: MessageState[];
}

interface Grant {
  readonly user: UserState;
  readonly scopes: readonly string[];
  readonly isBot: boolean;
}

interface FileState {
  readonly id: string;
  readonly name: string;
  readonly user: string;
  readonly created: number;
  bytes: Buffer;
  /** The channels where it is shared; empty until the upload is completed. */
  readonly channels: string[];
}

/** A request that the fake got. */
export interface SeenCall {
  readonly method: string;
  readonly form: URLSearchParams;
  readonly user: string | undefined;
}

/** A failure that the fake plays instead of an answer. */
export type SlackFault =
  | { readonly status: number; readonly headers?: { readonly [name: string]: string }; readonly body?: object | string }
  | "cut"
  | "huge"
  | "stall";

/** An answer of Slack without `ok`, or the name of an error. */
type Answer = object | string;
type Method = (grant: Grant, form: URLSearchParams) => Answer;

/** Each method with the scope that it needs, and whether it changes something. */
const scopes: { readonly [method: string]: string } = {
  "conversations.list": "channels:read",
  "conversations.info": "channels:read",
  "conversations.history": "channels:history",
  "conversations.replies": "channels:history",
  "search.messages": "search:read",
  "users.list": "users:read",
  "chat.postMessage": "chat:write",
  "reactions.add": "reactions:write",
  "reactions.list": "reactions:read",
  "files.list": "files:read",
  "files.info": "files:read",
  "files.getUploadURLExternal": "files:write",
  "files.completeUploadExternal": "files:write",
};

/** All scopes that a method of the fake needs. */
export const allScopes: readonly string[] = [...new Set(Object.values(scopes))];

const writing: ReadonlySet<string> = new Set(["chat.postMessage", "reactions.add", "files.completeUploadExternal"]);

export class FakeSlack {
  readonly origin: string;
  readonly calls: SeenCall[] = [];
  readonly users: UserState[] = [];
  readonly channels: ChannelState[] = [];
  readonly files: FileState[] = [];
  readonly clientId = "1234.5678";
  readonly clientSecret: string = randomBytes(16).toString("hex");
  /** The person who sits in front of the browser; undefined shows a page that asks. */
  browserUser: string | undefined;
  readonly #codes: Map<string, URLSearchParams & { name?: string }> = new Map();
  readonly #refreshTokens: Map<string, { readonly name: string; readonly scopes: readonly string[] }> = new Map();
  /** Access tokens expire, and come with a token to renew them. */
  rotatesTokens = false;
  readonly #grants: Map<string, Grant> = new Map();
  readonly #faults: { readonly fault: SlackFault; left: number; readonly isFor: (call: SeenCall) => boolean }[] = [];
  #seconds = 1_760_000_000;

  constructor(origin: string) {
    this.origin = origin;
  }

  get api(): string {
    return `${this.origin}/api`;
  }

  user(name: string): UserState {
    const known = this.users.find((one) => one.name === name);
    if (known) return known;
    const made = { id: `U${String(this.users.length + 1).padStart(9, "0")}`, name };
    this.users.push(made);
    return made;
  }

  token(name: string, granted: readonly string[] = allScopes, isBot = false): string {
    const token = `${isBot ? "xoxb" : "xoxp"}-${randomBytes(12).toString("hex")}`;
    this.#grants.set(token, { user: this.user(name), scopes: granted, isBot });
    return token;
  }

  revoke(token: string): void {
    this.#grants.delete(token);
  }

  /** Makes all tokens of a person invalid, as an administrator can. */
  revokeAll(name: string): void {
    for (const [token, { user }] of this.#grants) if (user.name === name) this.#grants.delete(token);
    for (const [token, one] of this.#refreshTokens) if (one.name === name) this.#refreshTokens.delete(token);
  }

  share(channel: ChannelState, user: string, name: string, content: string | Buffer): FileState {
    const made = this.#newFile(user, name, Buffer.from(content as string));
    made.channels.push(channel.id);
    return made;
  }

  #newFile(user: string, name: string, bytes: Buffer): FileState {
    const id = `F${String(this.files.length + 1).padStart(9, "0")}`;
    this.#seconds += 1;
    const made = { id, name, user: this.user(user).id, created: this.#seconds, bytes, channels: [] };
    this.files.push(made);
    return made;
  }

  channel(name: string, members: readonly string[], isPrivate = false): ChannelState {
    const id = `C${String(this.channels.length + 1).padStart(9, "0")}`;
    const made = { id, name, isPrivate, members: members.map((one) => this.user(one).id), messages: [] };
    this.channels.push(made);
    return made;
  }

  say(channel: ChannelState, user: string, text: string, thread_ts?: string): MessageState {
    this.#seconds += 1;
    const ts = `${this.#seconds}.000100`;
    const message = {
      ts,
      user: this.user(user).id,
      text,
      reactions: [],
      ...(thread_ts !== undefined && { thread_ts }),
    };
    channel.messages.push(message);
    return message;
  }

  fail(fault: SlackFault, times = 1, isFor: (call: SeenCall) => boolean = () => true): void {
    this.#faults.push({ fault, left: times, isFor });
  }

  /** How many requests changed something, by method. */
  get changes(): { [method: string]: number } {
    const counts: { [method: string]: number } = {};
    for (const { method } of this.calls) if (writing.has(method)) counts[method] = (counts[method] ?? 0) + 1;
    return counts;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const bytes = Buffer.from(Buffer.concat(await request.toArray()));
    const url = new URL(request.url ?? "", this.origin);
    const method = url.pathname.replace(/^\/api\//, "");
    const form = new URLSearchParams(request.method === "GET" ? url.search : bytes.toString());
    const token = /^bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? form.get("token") ?? "";
    const grant = this.#grants.get(token);
    const call = { method, form, user: grant?.user.name };
    // What a browser and an upload send is no call of a method.
    if (url.pathname.startsWith("/api/")) this.calls.push(call);
    const planned = this.#faults.find(({ left, isFor }) => left > 0 && isFor(call));
    if (planned) {
      planned.left -= 1;
      return play(planned.fault, response);
    }
    if (url.pathname === "/oauth/v2/authorize") return this.#authorize(url.searchParams, form, response);
    if (method === "oauth.v2.access") return this.#access(request, form, response);
    if (method.startsWith("/upload/v1/")) {
      const type = request.headers["content-type"] ?? "";
      return this.#receive(method.slice("/upload/v1/".length), await uploadedIn(bytes, type), response);
    }
    if (method.startsWith("/files-pri/")) return this.#deliver(method, grant, response);
    const answer = this.#answer(method, form, grant);
    const json = typeof answer === "string" ? { ok: false, error: answer } : { ok: true, ...answer };
    return send(response, 200, {}, json);
  }

  #answer(method: string, form: URLSearchParams, grant: Grant | undefined): Answer {
    if (!grant) return "invalid_auth";
    const run = this.#methods[method];
    if (!run) return "unknown_method";
    const needed = scopes[method];
    if (needed !== undefined && !grant.scopes.includes(needed)) {
      return { ok: false, error: "missing_scope", needed, provided: grant.scopes.join(",") };
    }
    if (method === "search.messages" && grant.isBot) return "not_allowed_token_type";
    return run(grant, form);
  }

  /** The page of Slack's OAuth v2 where a person allows the app. */
  #authorize(asked: URLSearchParams, form: URLSearchParams, response: ServerResponse): unknown {
    const name = this.browserUser ?? form.get("name") ?? undefined;
    if (asked.get("client_id") !== this.clientId) return response.writeHead(404).end();
    if (name === undefined || name === "") return showSignInPage(asked, response);
    const code = randomBytes(10).toString("hex");
    this.#codes.set(code, Object.assign(new URLSearchParams(asked), { name }));
    const back = new URL(asked.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.get("state") ?? "");
    return response.writeHead(302, { location: back.href }).end();
  }

  /** Exchanges a code or a refresh token; Slack answers failures with status 200. */
  #access(request: IncomingMessage, form: URLSearchParams, response: ServerResponse): unknown {
    const answer = (json: object) => send(response, 200, {}, json);
    const refuse = (error: string) => answer({ ok: false, error });
    const basic = /^basic (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
    const [id, secret] =
      basic === undefined
        ? [form.get("client_id"), form.get("client_secret")]
        : Buffer.from(basic, "base64").toString().split(":", 2).map(decodeURIComponent);
    if (id !== this.clientId) return refuse("invalid_client_id");
    if (secret !== this.clientSecret) return refuse("bad_client_secret");
    if (form.get("grant_type") === "refresh_token") {
      const known = this.#refreshTokens.get(form.get("refresh_token") ?? "");
      this.#refreshTokens.delete(form.get("refresh_token") ?? "");
      if (!known) return refuse("invalid_refresh_token");
      return answer({ ok: true, app_id: "A1", team: { id: "T1", name: "Test" }, ...this.#grantTo(known) });
    }
    const known = this.#codes.get(form.get("code") ?? "");
    this.#codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      known?.get("code_challenge") === challenge && known.get("redirect_uri") === form.get("redirect_uri");
    if (!known || !isRight) return refuse("invalid_code");
    const scopes = (known.get("user_scope") ?? "").split(",");
    const name = known.name ?? "";
    const authed_user = { id: this.user(name).id, ...this.#grantTo({ name, scopes }) };
    return answer({ ok: true, app_id: "A1", team: { id: "T1", name: "Test" }, enterprise: null, authed_user });
  }

  #grantTo(person: { readonly name: string; readonly scopes: readonly string[] }): object {
    const { name, scopes } = person;
    const access = { scope: scopes.join(","), access_token: this.token(name, scopes), token_type: "user" };
    if (!this.rotatesTokens) return access;
    const refresh_token = `xoxe-1-${randomBytes(12).toString("hex")}`;
    this.#refreshTokens.set(refresh_token, person);
    return { ...access, refresh_token, expires_in: 43_200 };
  }

  #receive(id: string, bytes: Buffer, response: ServerResponse): unknown {
    const file = this.files.find((one) => one.id === id);
    if (!file || file.channels.length > 0) return response.writeHead(404).end();
    file.bytes = bytes;
    return response.writeHead(200, { "content-type": "text/plain" }).end(`OK - ${bytes.length}`);
  }

  #deliver(path: string, grant: Grant | undefined, response: ServerResponse): unknown {
    const file = grant && this.#visibleFiles(grant).find(({ id }) => path.startsWith(`/files-pri/T1-${id}/`));
    if (file) return response.writeHead(200, { "content-type": "application/octet-stream" }).end(file.bytes);
    return response.writeHead(200, { "content-type": "text/html" }).end("<h1>Sign in to Slack</h1>");
  }

  #visibleFiles(grant: Grant): FileState[] {
    if (!grant.scopes.includes("files:read")) return [];
    const visible = this.#visible(grant).map(({ id }) => id);
    return this.files.filter(({ channels }) => channels.some((id) => visible.includes(id)));
  }

  #fileJson({ id, name, user, created, bytes }: FileState): object {
    const mimetype = name.endsWith(".md") ? "text/markdown" : "application/octet-stream";
    const url = `${this.origin}/files-pri/T1-${id}/download/${encodeURIComponent(name)}`;
    const urls = { url_private: url.replace("/download/", "/"), url_private_download: url };
    return { id, name, title: name, user, created, mimetype, size: bytes.length, ...urls };
  }

  #visible({ user }: Grant): ChannelState[] {
    return this.channels.filter(({ isPrivate, members }) => !isPrivate || members.includes(user.id));
  }

  /** Runs a method of a channel that the account sees. */
  #in(grant: Grant, form: URLSearchParams, run: (channel: ChannelState) => Answer): Answer {
    const channel = this.#visible(grant).find(({ id }) => id === form.get("channel"));
    return channel ? run(channel) : "channel_not_found";
  }

  readonly #methods: { readonly [method: string]: Method } = {
    "auth.test": ({ user }) => ({
      url: `${this.origin}/`,
      team: "Test",
      user: user.name,
      team_id: "T1",
      user_id: user.id,
    }),
    "conversations.list": (grant, form) => {
      const [found, next] = paged(this.#visible(grant), form);
      return { channels: found.map((one) => channelJson(one, grant)), response_metadata: { next_cursor: next } };
    },
    "conversations.info": (grant, form) => this.#in(grant, form, (one) => ({ channel: channelJson(one, grant) })),
    "conversations.history": (grant, form) =>
      this.#in(grant, form, (channel) => {
        const [oldest, latest] = [form.get("oldest") ?? "0", form.get("latest") ?? "9999999999.000000"];
        const isInclusive = form.get("inclusive") === "true";
        const isIn = ({ ts }: MessageState) =>
          (ts > oldest && ts < latest) || (isInclusive && (ts === oldest || ts === latest));
        const top = channel.messages.filter((one) => one.thread_ts === undefined && isIn(one)).reverse();
        const [found, next] = paged(top, form);
        const messages = found.map((one) => messageJson(one, channel));
        return { messages, has_more: next !== "", pin_count: 0, response_metadata: { next_cursor: next } };
      }),
    "conversations.replies": (grant, form) =>
      this.#in(grant, form, (channel) => {
        const ts = form.get("ts");
        const all = channel.messages.filter((one) => one.ts === ts || one.thread_ts === ts);
        if (all.length === 0) return "thread_not_found";
        const [found, next] = paged(all, form);
        const messages = found.map((one) => messageJson(one, channel));
        return { messages, has_more: next !== "", response_metadata: { next_cursor: next } };
      }),
    "search.messages": (grant, form) => {
      const words = (form.get("query") ?? "").split(" ").filter((word) => !word.includes(":"));
      const all = this.#visible(grant).flatMap((channel) =>
        channel.messages
          .filter(({ text }) => words.every((word) => text.includes(word)))
          .map((one) => ({
            ...messageJson(one, channel),
            type: "message",
            channel: { id: channel.id, name: channel.name },
            permalink: `${this.origin}/archives/${channel.id}/p${one.ts.replace(".", "")}`,
          })),
      );
      const matches = all.sort((a, b) => b.ts.localeCompare(a.ts)).slice(0, Number(form.get("count") ?? 20));
      return { query: form.get("query"), messages: { total: all.length, matches } };
    },
    "users.list": (_grant, form) => {
      const [found, next] = paged(this.users, form);
      const members = found.map(({ id, name }) => ({
        ...{ id, name, deleted: false, is_bot: false, team_id: "T1" },
        profile: { real_name: name.toUpperCase(), title: "" },
      }));
      return { members, cache_ts: 1, response_metadata: { next_cursor: next } };
    },
    "chat.postMessage": (grant, form) =>
      this.#in(grant, form, (channel) => {
        if (!channel.members.includes(grant.user.id)) return "not_in_channel";
        const text = form.get("markdown_text") ?? form.get("text");
        if (!text) return "no_text";
        const message = this.say(channel, grant.user.name, text, form.get("thread_ts") ?? undefined);
        return { channel: channel.id, ts: message.ts, message: messageJson(message, channel) };
      }),
    "reactions.add": (grant, form) =>
      this.#in(grant, form, (channel) => {
        const message = channel.messages.find(({ ts }) => ts === form.get("timestamp"));
        if (!message) return "message_not_found";
        const name = form.get("name") ?? "";
        const known = message.reactions.find((one) => one.name === name);
        if (known?.users.includes(grant.user.id)) return "already_reacted";
        if (known) known.users.push(grant.user.id);
        else message.reactions.push({ name, users: [grant.user.id] });
        return {};
      }),
    "files.list": (grant, form) => {
      const all = this.#visibleFiles(grant)
        .filter(({ channels }) => !form.has("channel") || channels.includes(form.get("channel") ?? ""))
        .reverse();
      const [count, page] = [Number(form.get("count") ?? 100), Number(form.get("page") ?? 1)];
      const files = all.slice((page - 1) * count, page * count).map((one) => this.#fileJson(one));
      return { files, paging: { count, total: all.length, page, pages: Math.max(1, Math.ceil(all.length / count)) } };
    },
    "files.info": (grant, form) => {
      const file = this.#visibleFiles(grant).find(({ id }) => id === form.get("file"));
      return file ? { file: this.#fileJson(file), comments: [] } : "file_not_found";
    },
    "files.getUploadURLExternal": ({ user }, form) => {
      if (!form.get("filename") || !(Number(form.get("length")) > 0)) return "invalid_arguments";
      const { id } = this.#newFile(user.name, form.get("filename") ?? "", Buffer.alloc(0));
      return { upload_url: `${this.origin}/upload/v1/${id}`, file_id: id };
    },
    "files.completeUploadExternal": (grant, form) => {
      const wanted: { id: string; title?: string }[] = JSON.parse(form.get("files") ?? "[]");
      const found = wanted.map(({ id }) => this.files.find((one) => one.id === id && one.channels.length === 0));
      if (found.length === 0 || found.some((one) => one === undefined)) return "file_not_found";
      const place = form.get("channel_id") ?? form.get("channels") ?? "";
      const channel = this.#visible(grant).find(({ id }) => id === place);
      if (!channel) return "channel_not_found";
      for (const file of found) file?.channels.push(channel.id);
      const said = form.get("initial_comment") ?? "";
      this.say(channel, grant.user.name, said, form.get("thread_ts") ?? undefined);
      return { files: wanted };
    },
    "reactions.list": (grant, form) => {
      const all = this.#visible(grant).flatMap((channel) =>
        channel.messages
          .filter(({ reactions }) => reactions.some(({ users }) => users.includes(grant.user.id)))
          .map((one) => ({ type: "message", channel: channel.id, message: messageJson(one, channel) })),
      );
      const [items, next] = paged(all, form);
      return { items, response_metadata: { next_cursor: next } };
    },
  };
}

/** Returns the content of an upload: the bytes themselves, or the file of a form. */
async function uploadedIn(bytes: Buffer<ArrayBuffer>, type: string): Promise<Buffer> {
  if (!type.startsWith("multipart/form-data")) return bytes;
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  const [file] = [...form.values()].filter((value) => typeof value !== "string");
  return file ? Buffer.from(await file.arrayBuffer()) : Buffer.alloc(0);
}

/** Asks who the person is; real Slack asks for a workspace, a password and a yes to the scopes as well. */
function showSignInPage(asked: URLSearchParams, response: ServerResponse): void {
  const scopes = (asked.get("user_scope") ?? "").replaceAll(/[^\w:, ]/g, "");
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(
    `<!doctype html><title>Sign in to Slack</title><h1>Allow</h1><p>It wants: ${scopes}</p>
<form method="post"><label>Username <input name="name"></label><button>Authorize</button></form>`,
  );
}

/** Starts a fake of Slack until the test ends. */
export async function startFakeSlack(): Promise<FakeSlack> {
  let fake: FakeSlack | undefined;
  const server = createServer((request, response) => {
    fake?.handle(request, response).catch((reason: unknown) => {
      send(response, 500, {}, { ok: false, error: `The fake failed: ${reason}` });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  fake = new FakeSlack(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return fake;
}

function paged<T>(all: readonly T[], form: URLSearchParams): [T[], string] {
  const from = Number(Buffer.from(form.get("cursor") ?? "", "base64").toString() || 0);
  const until = from + Number(form.get("limit") ?? 100);
  return [all.slice(from, until), until < all.length ? Buffer.from(String(until)).toString("base64") : ""];
}

function channelJson({ id, name, isPrivate, members }: ChannelState, { user }: Grant) {
  const topic = { value: `About ${name}`, creator: "", last_set: 0 };
  const is_member = members.includes(user.id);
  return {
    id,
    name,
    is_channel: true,
    is_private: isPrivate,
    is_archived: false,
    is_member,
    topic,
    num_members: members.length,
  };
}

function messageJson({ ts, user, text, thread_ts, reactions }: MessageState, { messages }: ChannelState) {
  const reply_count = messages.filter((one) => one.thread_ts === ts).length;
  return {
    ...{ type: "message", ts, user, text },
    ...(thread_ts !== undefined && { thread_ts }),
    ...(reply_count > 0 && { thread_ts: ts, reply_count }),
    ...(reactions.length > 0 && { reactions: reactions.map((one) => ({ ...one, count: one.users.length })) }),
  };
}

function send(response: ServerResponse, status: number, headers: object, body: object | string): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers }).end(text);
}

function play(fault: SlackFault, response: ServerResponse): void {
  if (fault === "stall") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    response.write('{"half": ');
    return;
  }
  if (fault === "cut") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    // The part that is sent must arrive before the connection ends.
    response.write('{"ok": tr', () => response.destroy());
    return;
  }
  if (fault === "huge") send(response, 200, {}, { ok: true, text: "x".repeat(20 * 1024 * 1024) });
  else send(response, fault.status, fault.headers ?? {}, fault.body ?? {});
}
