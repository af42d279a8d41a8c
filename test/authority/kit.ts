import { createHash, randomBytes, scryptSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Authority,
  type AuthorityEvent,
  type AuthorityOptions,
  createAuthority,
  type PasswordSignIn,
  usersIn,
} from "portolan-authority";
import { onTestFinished } from "vitest";
import { ask, Browser, type Visited } from "./browser.ts";

export const resource = "http://localhost:3000/mcp";
export const redirectUri = "http://127.0.0.1:9999/callback";
const scopes = { "notes:read": "Read your notes", "notes:write": "Change your notes" };
const password = "correct horse";
/** A hash like that of `hashPassword`, at a low cost for tests. */
const hashed = `scrypt$1024$8$1$${"A".repeat(22)}$${scryptSync(password, Buffer.alloc(16), 32, { N: 1024 }).toString("base64url")}`;

/** Starts a server on loopback until the test ends; its URL is known before its handler is created. */
export async function serve(make: (origin: string) => Promise<RequestListener>): Promise<string> {
  let listener: RequestListener = (_, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  listener = await make(origin);
  return origin;
}

/** Ada and Bob in a file; both have the same password. */
export function people(): PasswordSignIn & { readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), "portolan-authority-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "users.json");
  const users = [
    { name: "ada", password: hashed, displayName: "Ada Lovelace" },
    { name: "bob", password: hashed },
  ];
  writeFileSync(path, JSON.stringify({ users }));
  return { ...usersIn(path), path };
}

export interface Started {
  readonly issuer: string;
  readonly authority: Authority;
  readonly events: AuthorityEvent[];
  readonly errors: unknown[];
}

/** Starts an authority with two people, dynamic registration and one server. A test can change each option. */
export async function start(
  options: Partial<AuthorityOptions> = {},
  path = "",
): Promise<Started & { address: string }> {
  const events: AuthorityEvent[] = [];
  const errors: unknown[] = [];
  let authority: Authority | undefined;
  const signIn = options.signIn ?? people();
  const origin = await serve(async (origin) => {
    authority = await createAuthority({
      issuer: origin + path,
      name: "Acme",
      resources: [{ resource, name: "Notes", scopes }],
      registration: { dynamic: true },
      onEvent: (event) => events.push(event),
      onError: (error) => errors.push(error),
      ...options,
      signIn,
    });
    return authority.handle;
  });
  return { issuer: options.issuer ?? origin + path, address: origin + path, authority: authority!, events, errors };
}

// biome-ignore lint/suspicious/noExplicitAny: the assertions of a test say what it is
export type Json = { readonly [member: string]: any };

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

export async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Answered> {
  const isForm = body instanceof URLSearchParams;
  const response = await ask(url, {
    method: "POST",
    headers: { ...(!isForm && { "content-type": "application/json" }), ...headers },
    body: isForm ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text.startsWith("{") ? JSON.parse(text) : {} };
}

export interface AppOptions {
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly redirectUri?: string;
}

/** A typical client: registers itself, uses PKCE, has a browser. */
export class App {
  readonly issuer: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly browser: Browser;
  readonly #secret: string | undefined;
  verifier = "";

  constructor(issuer: string, options: AppOptions & { readonly clientId: string }, browser?: Browser) {
    this.issuer = issuer;
    this.clientId = options.clientId;
    this.redirectUri = options.redirectUri ?? redirectUri;
    this.#secret = options.clientSecret;
    const { protocol, host } = new URL(this.redirectUri);
    this.browser = browser ?? new Browser((url) => url.protocol === protocol && url.host === host);
  }

  static async register(issuer: string, metadata: object = {}, browser?: Browser): Promise<App> {
    const grant_types = ["authorization_code", "refresh_token"];
    const open = { client_name: "Notebook", redirect_uris: [redirectUri], token_endpoint_auth_method: "none" };
    const described = { ...open, grant_types, ...metadata };
    const { status, body } = await post(`${issuer}/register`, described);
    if (status !== 201) throw new Error(JSON.stringify(body));
    const secret = body["client_secret"] === undefined ? {} : { clientSecret: body["client_secret"] };
    return new App(issuer, { clientId: body["client_id"], redirectUri: body["redirect_uris"][0], ...secret }, browser);
  }

  authorizeUrl(parameters: { readonly [name: string]: string | undefined } = {}): string {
    this.verifier = randomBytes(32).toString("base64url");
    const all: { [name: string]: string | undefined } = {
      response_type: "code",
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      code_challenge: createHash("sha256").update(this.verifier).digest("base64url"),
      code_challenge_method: "S256",
      state: "some-state",
      scope: "notes:read",
      resource,
      ...parameters,
    };
    const given = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    return `${this.issuer}/authorize?${new URLSearchParams(given)}`;
  }

  /** Signs in as a person, up to the consent page. */
  async signIn(name = "ada", parameters = {}): Promise<Visited> {
    const page = await this.browser.open(this.authorizeUrl(parameters));
    return this.browser.press(page, "sign-in", { name, password });
  }

  /** Signs in and allows. Returns the query of the callback. */
  async login(name = "ada", parameters = {}): Promise<URLSearchParams> {
    const consent = await this.signIn(name, parameters);
    return calledBack(await this.browser.press(consent, "allow"));
  }

  async loginForTokens(name = "ada", parameters = {}): Promise<Answered> {
    return this.redeem((await this.login(name, parameters)).get("code") ?? "");
  }

  redeem(
    code: string,
    more: { readonly [name: string]: string } = {},
    headers = {},
    issuer = this.issuer,
  ): Promise<Answered> {
    const body = {
      grant_type: "authorization_code",
      code,
      redirect_uri: this.redirectUri,
      code_verifier: this.verifier,
    };
    return this.#token({ ...body, ...more }, headers, issuer);
  }

  refresh(token: string, headers = {}, issuer = this.issuer): Promise<Answered> {
    return this.#token({ grant_type: "refresh_token", refresh_token: token }, headers, issuer);
  }

  #token(
    body: { readonly [name: string]: string },
    headers: Record<string, string>,
    issuer: string,
  ): Promise<Answered> {
    const basic = { authorization: `Basic ${btoa(`${this.clientId}:${this.#secret}`)}` };
    const parameters = new URLSearchParams(this.#secret === undefined ? { client_id: this.clientId, ...body } : body);
    return post(`${issuer}/token`, parameters, { ...(this.#secret !== undefined && basic), ...headers });
  }
}

export function calledBack({ url, status, text }: Visited): URLSearchParams {
  if (status !== 0) throw new Error(`not called back, but ${status} ${url}: ${text.slice(-600)}`);
  const { searchParams, hash } = new URL(url);
  return hash === "" ? searchParams : new URLSearchParams(hash.slice(1));
}

/** Introspects a token as a server does. */
export async function introspect({ authority }: Started, token: string): Promise<Json> {
  const { protection } = authority;
  if (!("endpoint" in protection)) throw new Error("tokens are not opaque");
  const authorization = `Basic ${btoa(`${protection.clientId}:${protection.clientSecret}`)}`;
  return (await post(protection.endpoint, new URLSearchParams({ token }), { authorization })).body;
}
