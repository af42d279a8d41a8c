import { PortolanError } from "../../errors.ts";
import type { CredentialStore } from "./store.ts";

/** How a client shows at the token endpoint that it is the one it says. */
export type ClientMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** This program as an authorization server knows it. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly method: ClientMethod;
  /** Where people are sent back to, if that was agreed upon. */
  readonly redirectUri?: string;
  /** What it said that it would ask for, where it has registered itself: some authorization servers hold it to that. */
  readonly scopes?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly secretExpiresAt?: number;
  /** Registered by this program, which can do it again. */
  readonly isDynamic: boolean;
}

/** A token, and all that it takes to use and to renew it. */
export interface Credential {
  /** The authorization server that gave it, and the only one that is told of it. */
  readonly issuer: string;
  /** Whether the issuer was found below the server's own address, and not named by it. */
  readonly isGuessed: boolean;
  /** What it is for; undefined for servers that say nothing of the kind. */
  readonly resource: string | undefined;
  readonly client: RegisteredClient;
  /** Empty when it was found to be spent, and the rest is only what is remembered of it. */
  readonly accessToken: string;
  readonly tokenType: "Bearer" | "DPoP";
  /** When to get another one, in milliseconds since the epoch; undefined when nobody has said. */
  readonly renewAt: number | undefined;
  readonly refreshToken: string | undefined;
  /** What was asked for, and what was given besides. */
  readonly scopes: readonly string[];
  /** The key that the token is bound to. */
  readonly key: JsonWebKey | undefined;
}

/** A login on its way, for whoever comes back from it. */
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
  readonly key: JsonWebKey | undefined;
}

/** What one account keeps in a store, by server and by issuer. */
export class Vault {
  readonly #store: CredentialStore;
  readonly #owner: readonly string[];

  /** @param clientId a client that is configured: its tokens are not those of another one */
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

  /** Which issuer a client that was registered beforehand belongs to, once it was used. */
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

  /** Takes a login out: it is gone on with once. */
  takePending(state: string): Promise<PendingLogin | undefined> {
    const key = this.#key("login", state);
    return this.#store.exclusive(key, async () => {
      const pending = await this.#read<PendingLogin>(key);
      if (pending !== undefined) await this.#write(key, undefined);
      return pending;
    });
  }

  /** Runs alone among all who share the store and would change the token of this server. */
  exclusive<T>(server: string, work: () => Promise<T>, patienceMs: number): Promise<T> {
    return this.#store.exclusive(this.#key("token", server), work, { patienceMs });
  }

  #key(kind: string, name: string): string {
    return JSON.stringify([...this.#owner, kind, name]);
  }

  async #read<T>(key: string): Promise<T | undefined> {
    const text = await this.#store.get(key).catch(failed);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  }

  #write(key: string, value: unknown, ttlMs?: number): Promise<void> {
    const text = value === undefined ? undefined : JSON.stringify(value);
    return this.#store.set(key, text, ttlMs === undefined ? undefined : { ttlMs }).catch(failed);
  }
}

/** A token that is lost is not like one that was not given: whoever can do without the one cannot without the other. */
function failed(cause: unknown): never {
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new PortolanError("store-failed", `The credential store failed: ${why}`, { cause });
}
