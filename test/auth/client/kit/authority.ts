import {
  type CryptoKey,
  calculateJwkThumbprint,
  compactVerify,
  EmbeddedJWK,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify,
  SignJWT,
} from "jose";
import { type Answer, type Asked, Site } from "./site.ts";

/** A client as the authority knows it. */
export interface AuthorityClient {
  readonly redirectUris: readonly string[];
  /** Scopes that it may request. Default: all. */
  readonly scope?: string | undefined;
  readonly secret?: string;
  readonly method?: string;
  /** The key of a client that signs instead of using a secret. */
  readonly publicKey?: CryptoKey;
}

interface Granted {
  readonly clientId: string;
  readonly scope: string;
  readonly resource: string | undefined;
  readonly jkt?: string | undefined;
}

interface Code extends Granted {
  readonly redirectUri: string;
  readonly challenge: string;
}

const wellKnown = "/.well-known/oauth-authorization-server";

/** An authorization server whose behaviour a test can change in every detail. People sign in by visiting its page. */
export class TestAuthority {
  readonly site: Site;
  readonly issuer: string;
  readonly clients = new Map<string, AuthorityClient>();
  /** The person who signs in next. */
  subject = "ada";
  /** The members of its metadata, and its path. */
  readonly metadata: { [member: string]: unknown };
  readonly metadataPaths: Set<string>;
  lifeSeconds = 3_600;
  givesRefreshTokens = true;
  rotates = true;
  /** Grants a client only the scopes that it has registered. */
  isStrict = false;
  /** Additional parameters of the callback. */
  callback: { [name: string]: string };
  /** The nonce that proofs must contain, once it is set. */
  nonce: string | undefined;
  /** The scope of its tokens, instead of the requested one. */
  grantedScope: string | undefined;
  readonly refreshTokens = new Map<string, Granted>();
  readonly accessTokens: string[] = [];
  readonly revoked: string[] = [];
  readonly #now: () => number;
  readonly #codes = new Map<string, Code>();
  readonly #key: CryptoKey;
  readonly #jwk: JWK;
  readonly #path: string;

  private constructor(site: Site, path: string, now: () => number, key: CryptoKey, jwk: JWK) {
    this.site = site;
    this.#path = path;
    this.#now = now;
    this.#key = key;
    this.#jwk = jwk;
    this.issuer = site.origin + path;
    this.metadata = {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      registration_endpoint: `${this.issuer}/register`,
      revocation_endpoint: `${this.issuer}/revoke`,
      jwks_uri: `${this.issuer}/keys`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    };
    this.metadataPaths = new Set([wellKnown + path]);
    this.callback = { iss: this.issuer };
    site.serve = async (asked, _request, response) => {
      const { status = 200, headers = {}, body } = await this.#answer(asked);
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
  }

  static async start({ path = "", now = Date.now } = {}): Promise<TestAuthority> {
    const site = await Site.start();
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    return new TestAuthority(site, path, now, privateKey, { ...(await exportJWK(publicKey)), kid: "one" });
  }

  /** Returns the requests to one endpoint. */
  asked(endpoint: "authorize" | "token" | "register" | "revoke"): Asked[] {
    return this.site.askedFor(`${this.#path}/${endpoint}`);
  }

  /** Returns the token requests with this grant. */
  grants(type: string): URLSearchParams[] {
    return this.asked("token").flatMap(({ form }) => (form.get("grant_type") === type ? [form] : []));
  }

  /** Answers an endpoint instead of the authority, this many times. */
  answer(endpoint: string, answer: Answer | "hang up", times = Number.POSITIVE_INFINITY): void {
    let left = times;
    this.site.instead.set(`${this.#path}/${endpoint}`, () => {
      left -= 1;
      return left >= 0 ? answer : undefined;
    });
  }

  /** Invalidates every token and code. */
  forget(): void {
    this.refreshTokens.clear();
    this.#codes.clear();
  }

  async #answer(asked: Asked): Promise<Answer> {
    const { path } = asked;
    if (this.metadataPaths.has(path)) return { body: this.metadata };
    switch (path.startsWith(`${this.#path}/`) ? path.slice(this.#path.length) : "") {
      case "/keys":
        return { body: { keys: [this.#jwk] } };
      case "/register":
        return this.#register(asked);
      case "/authorize":
        return this.#authorize(asked.query);
      case "/token":
        return this.#token(asked);
      case "/revoke":
        this.revoked.push(asked.form.get("token") ?? "");
        this.refreshTokens.delete(asked.form.get("token") ?? "");
        return {};
      default:
        return { status: 404, body: {} };
    }
  }

  #register({ body }: Asked): Answer {
    const document = JSON.parse(body);
    const id = `client-${this.clients.size + 1}`;
    const method = document.token_endpoint_auth_method ?? "client_secret_basic";
    const secret = method === "none" ? undefined : `secret ${id}`;
    const scope = this.isStrict ? document.scope : undefined;
    this.clients.set(id, { redirectUris: document.redirect_uris, method, scope, ...(secret && { secret }) });
    return { status: 201, body: { ...document, client_id: id, ...(secret && { client_secret: secret }) } };
  }

  #authorize(query: URLSearchParams): Answer {
    const clientId = query.get("client_id") ?? "";
    const redirectUri = query.get("redirect_uri") ?? "";
    const client = this.clients.get(clientId);
    if (!client && !clientId.startsWith("https://")) return { status: 400, body: { error: "unknown client" } };
    const target = new URL(redirectUri);
    const allowed = client?.scope?.split(" ");
    if (
      allowed &&
      query
        .get("scope")
        ?.split(" ")
        .some((scope) => !allowed.includes(scope))
    ) {
      const answer = { error: "invalid_scope", state: query.get("state") ?? "", ...this.callback };
      target.search = new URLSearchParams(answer).toString();
      return { status: 302, headers: { location: target.href } };
    }
    const code = `code-${crypto.randomUUID()}`;
    this.#codes.set(code, {
      clientId,
      redirectUri,
      challenge: query.get("code_challenge") ?? "",
      scope: query.get("scope") ?? "",
      resource: query.get("resource") ?? undefined,
    });
    target.search = new URLSearchParams({ code, state: query.get("state") ?? "", ...this.callback }).toString();
    return { status: 302, headers: { location: target.href } };
  }

  async #token(asked: Asked): Promise<Answer> {
    const { form, headers } = asked;
    const clientId = await this.#authenticate(asked);
    if (clientId === undefined) return refusal("invalid_client", 401);
    let jkt: string | undefined;
    const proof = headers["dpop"];
    if (typeof proof === "string") {
      const { payload, protectedHeader } = await compactVerify(proof, EmbeddedJWK);
      const said = JSON.parse(new TextDecoder().decode(payload));
      if (this.nonce !== undefined && said.nonce !== this.nonce) {
        return { ...refusal("use_dpop_nonce"), headers: { "dpop-nonce": this.nonce } };
      }
      jkt = await calculateJwkThumbprint(protectedHeader.jwk as JWK);
    }
    const granted = await this.#granted(form, clientId);
    return granted ? this.#give({ ...granted, jkt }, form.get("grant_type") ?? "") : refusal("invalid_grant");
  }

  async #granted(form: URLSearchParams, clientId: string): Promise<Granted | undefined> {
    const resource = form.get("resource") ?? undefined;
    switch (form.get("grant_type")) {
      case "authorization_code": {
        const code = this.#codes.get(form.get("code") ?? "");
        this.#codes.delete(form.get("code") ?? "");
        const isSame = code?.clientId === clientId && code.redirectUri === form.get("redirect_uri");
        return isSame && code.challenge === (await digest(form.get("code_verifier") ?? "")) ? code : undefined;
      }
      case "refresh_token": {
        const old = form.get("refresh_token") ?? "";
        const granted = this.refreshTokens.get(old);
        if (this.rotates) this.refreshTokens.delete(old);
        return granted?.clientId === clientId ? granted : undefined;
      }
      case "client_credentials":
      case "urn:ietf:params:oauth:grant-type:jwt-bearer":
      case "urn:ietf:params:oauth:grant-type:token-exchange":
        return { clientId, resource, scope: form.get("scope") ?? "" };
      default:
        return undefined;
    }
  }

  async #give(granted: Granted, grantType: string): Promise<Answer> {
    const scope = this.grantedScope ?? granted.scope;
    const { clientId, resource, jkt } = granted;
    if (grantType.endsWith("token-exchange")) {
      const body = { access_token: "vouched-for", token_type: "N_A", issued_token_type: "id-jag", expires_in: 60 };
      return { body };
    }
    const now = Math.floor(this.#now() / 1_000);
    const accessToken = await new SignJWT({ client_id: clientId, scope, ...(jkt && { cnf: { jkt } }) })
      .setProtectedHeader({ alg: "ES256", kid: "one", typ: "at+jwt" })
      .setIssuer(this.issuer)
      .setSubject(this.subject)
      .setAudience(resource ?? "nobody")
      .setIssuedAt(now)
      .setExpirationTime(now + this.lifeSeconds)
      .setJti(crypto.randomUUID())
      .sign(this.#key);
    this.accessTokens.push(accessToken);
    const isPersonal = grantType === "authorization_code" || grantType === "refresh_token";
    const isNew = grantType === "authorization_code" || this.rotates;
    const refreshToken = `refresh-${crypto.randomUUID()}`;
    const hasRefresh = isPersonal && isNew && this.givesRefreshTokens;
    if (hasRefresh) this.refreshTokens.set(refreshToken, { clientId, resource, scope, jkt });
    const token = { access_token: accessToken, token_type: jkt ? "DPoP" : "Bearer", expires_in: this.lifeSeconds };
    return { body: { ...token, scope, ...(hasRefresh && { refresh_token: refreshToken }) } };
  }

  /** Returns the authenticated client of a request. */
  async #authenticate({ form, headers }: Asked): Promise<string | undefined> {
    const [scheme, encoded = ""] = headers.authorization?.split(" ") ?? [];
    const [basicId = "", basicSecret = ""] =
      scheme === "Basic"
        ? atob(encoded)
            .split(":")
            .map((part) => decodeURIComponent(part.replaceAll("+", " ")))
        : [];
    const assertion = form.get("client_assertion");
    const clientId = form.get("client_id") ?? basicId;
    const client = this.clients.get(clientId);
    if (assertion !== null) {
      const known = [...this.clients].find(([, { publicKey }]) => publicKey);
      if (!known?.[1].publicKey) return undefined;
      const { payload } = await jwtVerify(assertion, known[1].publicKey, { audience: this.issuer, subject: known[0] });
      return payload.sub;
    }
    if (!client) return clientId.startsWith("https://") ? clientId : undefined;
    if (client.secret === undefined) return clientId;
    const isPosted = client.method === "client_secret_post";
    return (isPosted ? form.get("client_secret") : basicSecret) === client.secret ? clientId : undefined;
  }
}

function refusal(error: string, status = 400): Answer {
  return { status, body: { error } };
}

async function digest(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toString("base64url");
}
