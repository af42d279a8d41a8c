import { PortolanError } from "../../errors.ts";
import type { Jwk } from "./grants.ts";
import type { CredentialStore, ExclusiveOptions } from "./store.ts";

/** How a client authenticates at the token endpoint. */
export type ClientAuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** A client registration: this program as an authorization server knows it. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly method: ClientAuthMethod;
  /** The redirect URI of the registration, where it has one. */
  readonly redirectUri?: string;
  /** The scopes named at registration; some authorization servers grant no others. */
  readonly scopes?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly secretExpiresAt?: number;
  /** This program registered it, and can register again. */
  readonly isDynamic: boolean;
}

/** An access token with all that is needed to use and to renew it. */
export interface Credential {
  /** The authorization server that issued the token; no other one ever receives it. */
  readonly issuer: string;
  /** The issuer was guessed from the server's own URL, not named by the server. */
  readonly isGuessed: boolean;
  /** The `resource` that the token was requested for; undefined for servers without resource metadata. */
  readonly resource: string | undefined;
  readonly client: RegisteredClient;
  /** Empty after the token expired; the rest then serves to get another one. */
  readonly accessToken: string;
  readonly tokenType: "Bearer" | "DPoP";
  /** When to renew the token, in milliseconds since the epoch. */
  readonly renewAt: number | undefined;
  readonly refreshToken: string | undefined;
  /** The requested scopes, and those granted in addition. */
  readonly scopes: readonly string[];
  /** The DPoP key that the token is bound to. */
  readonly key: Jwk | undefined;
}

/** A login under way: all that is needed to complete it. */
export interface PendingLogin {
  readonly server: string;
  readonly issuer: string;
  readonly isGuessed: boolean;
  readonly resource: string | undefined;
  readonly client: RegisteredClient;
  readonly redirectUri: string;
  readonly state: string;
  readonly verifier: string;
  readonly scopes: readonly string[];
  readonly key: Jwk | undefined;
}

/** The typed content of a credential store, for one account: tokens by server, registrations by issuer. */
export class Vault {
  readonly #store: CredentialStore;
  readonly #owner: readonly string[];

  /** @param clientId the configured client, if any; its tokens are kept apart from those of other clients */
  constructor(store: CredentialStore, account: string, clientId: string) {
    this.#store = store;
    this.#owner = [account, clientId];
  }

  readCredential(server: string): Promise<Credential | undefined> {
    return this.#read<Credential>(this.#key("token", server));
  }

  writeCredential(server: string, credential: Credential | undefined): Promise<void> {
    return this.#write(this.#key("token", server), credential);
  }

  readClient(issuer: string): Promise<RegisteredClient | undefined> {
    return this.#read<RegisteredClient>(this.#key("client", issuer));
  }

  writeClient(issuer: string, client: RegisteredClient | undefined): Promise<void> {
    return this.#write(this.#key("client", issuer), client);
  }

  /** Remembers where a login at a server was begun, until it is finished; `undefined` deletes it. */
  writeVisit(server: string, issuer: string | undefined): Promise<void> {
    return this.#write(this.#key("visit", server), issuer);
  }

  readVisit(server: string): Promise<string | undefined> {
    return this.#read<string>(this.#key("visit", server));
  }

  /** Returns the issuer that a configured client belongs to: the first one it was used with. */
  async bind(clientId: string, issuer: string): Promise<string> {
    const key = this.#key("bound", clientId);
    return this.#store.exclusive(key, async () => {
      const bound = await this.#read<string>(key);
      if (bound === undefined) await this.#write(key, issuer);
      return bound ?? issuer;
    });
  }

  keepPending(pending: PendingLogin, ttlMs: number): Promise<void> {
    return this.#write(this.#key("login", pending.state), pending, ttlMs);
  }

  /** Reads and deletes a pending login, so that it can be completed only once. */
  takePending(state: string): Promise<PendingLogin | undefined> {
    const key = this.#key("login", state);
    return this.#store.exclusive(key, async () => {
      const pending = await this.#read<PendingLogin>(key);
      if (pending !== undefined) await this.#write(key, undefined);
      return pending;
    });
  }

  /** Runs work that changes the token of this server, alone among all processes that share the store. */
  exclusive<T>(server: string, work: () => Promise<T>, waiting: ExclusiveOptions): Promise<T> {
    return this.#store.exclusive(this.#key("token", server), work, waiting);
  }

  #key(kind: string, name: string): string {
    return JSON.stringify([...this.#owner, kind, name]);
  }

  async #read<T>(key: string): Promise<T | undefined> {
    const text = await this.#store.get(key).catch(storeFailed);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  }

  #write(key: string, value: unknown, ttlMs?: number): Promise<void> {
    const text = value === undefined ? undefined : JSON.stringify(value);
    return this.#store.set(key, text, ttlMs === undefined ? undefined : { ttlMs }).catch(storeFailed);
  }
}

/** A store failure has a code of its own: it must not look like a missing token, which a login would replace. */
function storeFailed(cause: unknown): never {
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new PortolanError("store-failed", `The credential store failed: ${why}`, { cause });
}
