// A fake of GitHub on loopback: real paths, paging, ETags, limits, error bodies and sign-in, with state.
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { operations, type Reply, type World } from "./routes.ts";
import { Shapes } from "./shapes.ts";
import { type Account, Refusal, RepositoryState } from "./state.ts";

/** A request that the fake got. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly login: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** What the fake did with a request that is an operation of GitHub, in terms of its description. */
export interface Exchanged {
  readonly method: string;
  readonly described: string;
  readonly media: string;
  readonly requestBody: unknown;
  readonly status: number;
  readonly responseBody: unknown;
}

/** A failure that the fake plays instead of an answer: a response, or one of these faults of the network. */
export type Fault =
  | { readonly status: number; readonly headers?: { readonly [name: string]: string }; readonly body?: object | string }
  | "cut"
  | "huge"
  | "stall"
  | "silence";

interface Grant {
  readonly account: Account;
  readonly scopes: readonly string[];
}

interface PlannedFault {
  readonly fault: Fault;
  readonly isFor: (request: SeenRequest) => boolean;
  left: number;
}

const documentation = "https://docs.github.com/rest";
/** Scopes with which a token may change things; fine for public and for private repositories. */
const writeScopes = ["repo"];

export class FakeGithub {
  readonly origin: string;
  readonly requests: SeenRequest[] = [];
  readonly exchanges: Exchanged[] = [];
  readonly accounts: Map<string, Account> = new Map();
  /** The person who has allowed the application before, so that no page is shown. */
  browserUser: string | undefined;
  readonly clientId: string = "portolan-test";
  readonly clientSecret: string = randomUUID();
  readonly #grants: Map<string, Grant> = new Map();
  readonly #codes: Map<string, URLSearchParams & { login?: string }> = new Map();
  readonly #faults: PlannedFault[] = [];
  readonly #world: World;
  #id = 1000;

  constructor(origin: string) {
    this.origin = origin;
    this.#world = {
      shapes: new Shapes(origin),
      accounts: this.accounts,
      repositories: new Map(),
      sees: ({ id }, { isPrivate, owner }) => !isPrivate || owner.id === id,
    };
  }

  account(login: string): Account {
    const known = this.accounts.get(login) ?? { id: this.#nextId(), login };
    this.accounts.set(login, known);
    return known;
  }

  /** Makes a token for an account. */
  token(login: string, scopes: readonly string[] = ["repo", "read:user"]): string {
    const token = `ghp_${randomBytes(24).toString("base64url")}`;
    this.#grants.set(token, { account: this.account(login), scopes });
    return token;
  }

  /** Makes tokens of an account invalid, as its owner can. */
  revoke(login: string): void {
    for (const [token, { account }] of this.#grants) if (account.login === login) this.#grants.delete(token);
  }

  repository(owner: string, name: string, isPrivate = false): RepositoryState {
    const made = new RepositoryState(this.#nextId(), this.account(owner), name, isPrivate, () => this.#nextId());
    this.#world.repositories.set(made.fullName.toLowerCase(), made);
    return made;
  }

  /** Lets a repository be found under another name, by a redirect. */
  renamed(from: string, to: RepositoryState): void {
    this.#redirects.set(from, to);
  }

  readonly #redirects: Map<string, RepositoryState> = new Map();

  /** Plays a fault for the next requests, of all that `isFor` selects. */
  fail(fault: Fault, times = 1, isFor: (request: SeenRequest) => boolean = () => true): void {
    this.#faults.push({ fault, left: times, isFor });
  }

  /** How many requests came, by method. Those of sign-ins do not count. */
  get counts(): { [method: string]: number } {
    const counts: { [method: string]: number } = {};
    for (const { method, path } of this.requests) {
      if (!path.startsWith("/login/")) counts[method] = (counts[method] ?? 0) + 1;
    }
    return counts;
  }

  #nextId(): number {
    this.#id += 1;
    return this.#id;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.origin);
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = "GET", headers } = request;
    const token = /^(?:bearer|token) (.+)$/i.exec(headers.authorization ?? "")?.[1];
    const grant = token === undefined ? undefined : this.#grants.get(token);
    const seen = { method, path: url.pathname, query: url.search, login: grant?.account.login, headers, body };
    this.requests.push(seen);
    const planned = this.#faults.find(({ left, isFor }) => left > 0 && isFor(seen));
    if (planned) {
      planned.left -= 1;
      play(planned.fault, response);
    } else if (url.pathname.startsWith("/login/oauth/")) this.#signIn(url, body, request, response);
    else this.#answer(seen, url, grant, response);
  }

  #answer(seen: SeenRequest, url: URL, grant: Grant | undefined, response: ServerResponse): unknown {
    const { method, headers } = seen;
    const scopes = grant?.scopes ?? [];
    const base = { "x-oauth-scopes": scopes.join(", "), "x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4990" };
    const refuse = (status: number, message: string, more: object = {}, extra: object = {}) =>
      send(
        response,
        status,
        { ...base, ...extra },
        { message, documentation_url: documentation, status: String(status), ...more },
      );
    if (!grant) return refuse(401, "Bad credentials");
    const [, renamed, rest = ""] = /^\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(url.pathname) ?? [];
    const moved = renamed === undefined ? undefined : this.#redirects.get(renamed);
    if (moved) {
      const location = `${this.origin}/repos/${moved.fullName}${rest}${url.search}`;
      const status = method === "GET" ? 301 : 307;
      return send(
        response,
        status,
        { ...base, location },
        { message: "Moved Permanently", url: location, documentation_url: documentation },
      );
    }
    const found = operations.find((one) => one.method === method && one.pattern.test(url.pathname));
    if (!found) return refuse(404, "Not Found");
    if (method !== "GET" && !writeScopes.some((scope) => scopes.includes(scope))) {
      const accepted = { "x-accepted-oauth-scopes": writeScopes.join(", ") };
      return refuse(403, "Resource not accessible by integration", {}, accepted);
    }
    const media = /application\/vnd\.github(?:\.v3)?(\.[\w.-]+)?(?:\+json)?/.exec(String(headers.accept))?.[1] ?? "";
    const requestBody = seen.body === "" ? undefined : JSON.parse(seen.body);
    const note = (status: number, responseBody: unknown) =>
      this.exchanges.push({ method, described: found.described, media, requestBody, status, responseBody });
    try {
      const parts = (found.pattern.exec(url.pathname)?.slice(1) ?? []).map((part) => decodeURIComponent(part ?? ""));
      const { searchParams: query } = url;
      const reply = found.run(this.#world, { account: grant.account, query, media, body: requestBody }, parts);
      const { status, links, content, type } = render(reply, url);
      note(status, type === undefined ? JSON.parse(content.toString()) : content.toString());
      const etag = `"${createHash("sha1").update(content).digest("hex")}"`;
      const sent = { ...base, etag, ...(links !== "" && { link: links }) };
      if (method === "GET" && headers["if-none-match"] === etag) return response.writeHead(304, sent).end();
      response.writeHead(status, { ...sent, "content-type": type ?? "application/json; charset=utf-8" }).end(content);
    } catch (reason) {
      if (!(reason instanceof Refusal)) throw reason;
      note(reason.status, undefined);
      refuse(reason.status, reason.message, reason.errors && { errors: reason.errors });
    }
  }

  /** The pages and the token endpoint of GitHub's OAuth applications. */
  #signIn(url: URL, body: string, request: IncomingMessage, response: ServerResponse): unknown {
    if (url.pathname === "/login/oauth/authorize") {
      const asked = url.searchParams;
      const login = this.browserUser ?? new URLSearchParams(body).get("login");
      if (asked.get("client_id") !== this.clientId) return response.writeHead(404).end();
      if (!login) return showSignInPage(asked, response);
      const code = randomBytes(10).toString("hex");
      this.#codes.set(code, Object.assign(new URLSearchParams(asked), { login }));
      const back = new URL(asked.get("redirect_uri") ?? "");
      back.searchParams.set("code", code);
      back.searchParams.set("state", asked.get("state") ?? "");
      return response.writeHead(302, { location: back.href }).end();
    }
    // GitHub answers with status 200, also for failures.
    const form = new URLSearchParams(body);
    const answer = (json: object) => send(response, 200, {}, json);
    const [id, secret] = credentialsOf(request, form);
    if (id !== this.clientId || secret !== this.clientSecret) {
      return answer({
        error: "incorrect_client_credentials",
        error_description: "The client_id and/or client_secret passed are incorrect.",
      });
    }
    const known = this.#codes.get(form.get("code") ?? "");
    this.#codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (!known || known.get("code_challenge") !== challenge) {
      return answer({ error: "bad_verification_code", error_description: "The code passed is incorrect or expired." });
    }
    const scopes = (known.get("scope") ?? "").split(/[ ,]/).filter((one) => one !== "");
    return answer({
      access_token: this.token(known.login ?? "", scopes),
      token_type: "bearer",
      scope: scopes.join(","),
    });
  }
}

/** Asks who the person is; real GitHub asks for a password and for a yes to the scopes as well. */
function showSignInPage(asked: URLSearchParams, response: ServerResponse): void {
  const scopes = (asked.get("scope") ?? "").replaceAll(/[^\w: ,]/g, "");
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(
    `<!doctype html><title>Sign in to GitHub</title><h1>Authorize</h1><p>It wants: ${scopes}</p>
<form method="post"><label>Username <input name="login"></label><button>Authorize</button></form>`,
  );
}

/** Starts a fake of GitHub until the test ends. */
export async function startFakeGithub(): Promise<FakeGithub> {
  let fake: FakeGithub | undefined;
  const server = createServer((request, response) => {
    fake?.handle(request, response).catch((reason: unknown) => {
      send(response, 500, {}, { message: `The fake failed: ${reason}` });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  fake = new FakeGithub(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return fake;
}

function credentialsOf({ headers }: IncomingMessage, form: URLSearchParams): (string | null | undefined)[] {
  const basic = /^basic (.+)$/i.exec(headers.authorization ?? "")?.[1];
  if (basic === undefined) return [form.get("client_id"), form.get("client_secret")];
  return Buffer.from(basic, "base64").toString().split(":", 2).map(decodeURIComponent);
}

function send(response: ServerResponse, status: number, headers: object, body: object): void {
  response
    .writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers })
    .end(JSON.stringify(body));
}

/** Returns what is sent for a reply; lists are cut into pages with links to the others. */
function render(reply: Reply, url: URL): { status: number; links: string; content: string | Buffer; type?: string } {
  if ("text" in reply) return { status: 200, links: "", content: reply.text, type: reply.type };
  if ("json" in reply) return { status: reply.status ?? 200, links: "", content: JSON.stringify(reply.json) };
  const size = Math.min(Number(url.searchParams.get("per_page") ?? 30), 100);
  const page = Number(url.searchParams.get("page") ?? 1);
  const items = reply.list.slice((page - 1) * size, page * size);
  const last = Math.max(1, Math.ceil(reply.list.length / size));
  const linkTo = (number: number, relation: string) => {
    const to = new URL(url);
    to.searchParams.set("page", String(number));
    return `<${to.href}>; rel="${relation}"`;
  };
  const links = [
    ...(page > 1 ? [linkTo(page - 1, "prev"), linkTo(1, "first")] : []),
    ...(page < last ? [linkTo(page + 1, "next"), linkTo(last, "last")] : []),
  ];
  return { status: 200, links: links.join(", "), content: JSON.stringify(reply.wrap ? reply.wrap(items) : items) };
}

function play(fault: Fault, response: ServerResponse): void {
  if (fault === "silence") return;
  if (fault === "stall") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    response.write('{"half": ');
    return;
  }
  if (fault === "cut") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    // The part that is sent must arrive before the connection ends.
    response.write('{"title": "half', () => response.destroy());
    return;
  }
  if (fault === "huge") {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ title: "x".repeat(20 * 1024 * 1024) }));
    return;
  }
  const { status, headers = {}, body = { message: `Fault ${status}` } } = fault;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers }).end(text);
}
