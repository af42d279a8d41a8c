import type { AuthorizationServer } from "oauth4webapi";
import type { SafeFetch } from "../../net/policy.ts";
import type { ClientMethod, RegisteredClient, Vault } from "./credential.ts";
import type { Authority } from "./discovery.ts";
import { AuthFailure, plain } from "./errors.ts";

/** A client that its authorization server knows beforehand. */
export interface KnownClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** How the secret is sent; as the authorization server prefers unless said. */
  readonly method?: "client_secret_basic" | "client_secret_post";
  /** The authorization server that knows it; the first one that it is used with, unless said. */
  readonly issuer?: string;
}

/** How this program becomes known to authorization servers. */
export interface RegistrationOptions {
  /** Known beforehand. */
  readonly client?: KnownClient;
  /** An https address of a document that says who this program is, for authorization servers that read such. */
  readonly clientMetadataUrl?: string;
  /** What people read when they are asked for their consent; "Portolan" unless said. */
  readonly clientName?: string;
  /** Said besides where the program registers itself: `client_uri`, `logo_uri`, `contacts` and the like. */
  readonly clientMetadata?: { readonly [member: string]: unknown };
  /** The last resort: asks a person for what they have registered by hand. */
  readonly askClient?: (issuer: string) => Promise<KnownClient | undefined>;
}

export interface RegistrationContext {
  readonly vault: Vault;
  readonly fetch: SafeFetch;
  readonly now: () => number;
}

/** Who this program is at an authorization server, if that is settled without a registration of its own. */
export async function knownClient(
  { issuer, metadata }: Authority,
  options: RegistrationOptions,
  { vault, now }: RegistrationContext,
): Promise<RegisteredClient | undefined> {
  const { client, clientMetadataUrl } = options;
  if (client) return given(client, issuer, metadata, vault);
  if (clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true) {
    return { clientId: clientMetadataUrl, method: "none", isDynamic: false };
  }
  const kept = await vault.readClient(issuer);
  const isExpired = kept?.secretExpiresAt !== undefined && kept.secretExpiresAt <= now();
  return isExpired ? undefined : kept;
}

async function given(
  client: KnownClient,
  issuer: string,
  metadata: AuthorizationServer,
  vault: Vault,
): Promise<RegisteredClient> {
  const { clientId, clientSecret, method } = client;
  const bound = client.issuer ?? (await vault.bind(clientId, issuer));
  if (bound !== issuer) {
    throw new AuthFailure(
      `The client ${plain(clientId)} is registered with ${plain(bound)}, but the server now names ${plain(issuer)}; ` +
        "register there and change the configuration",
    );
  }
  return {
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    method: method ?? chooseMethod(metadata, clientSecret !== undefined),
    isDynamic: false,
  };
}

/** Whether a client has registered itself for less than is wanted now. */
export function isTooNarrow({ isDynamic, scopes: named }: RegisteredClient, scopes: readonly string[]): boolean {
  return isDynamic && named !== undefined && scopes.some((scope) => !named.includes(scope));
}

/** A client as it was kept, with the secret that is configured, for that is where it stays. */
export function withSecret(kept: RegisteredClient, { client }: RegistrationOptions): RegisteredClient {
  return client?.clientSecret === undefined ? kept : { ...kept, clientSecret: client.clientSecret };
}

/** Registers this program, or has a person say what they have registered; what comes of it is kept. */
export async function register(
  { issuer, metadata, isGuessed }: Authority,
  redirectUri: string,
  scopes: readonly string[],
  options: RegistrationOptions,
  context: RegistrationContext,
): Promise<RegisteredClient> {
  const client =
    metadata.registration_endpoint === undefined
      ? await entered(issuer, metadata, options)
      : await registered(metadata, redirectUri, scopes, options, context).catch((reason) => {
          if (!isGuessed || !(reason instanceof AuthFailure) || reason.error !== undefined) throw reason;
          throw new AuthFailure(
            `${plain(issuer)} wants to know who is there, but names no authorization server and is none itself; ` +
              "it may want a key in a header",
          );
        });
  await context.vault.writeClient(issuer, client);
  return client;
}

async function entered(
  issuer: string,
  metadata: AuthorizationServer,
  { askClient, clientMetadataUrl }: RegistrationOptions,
): Promise<RegisteredClient> {
  const client = await askClient?.(issuer);
  if (!client) {
    const noDocument = clientMetadataUrl === undefined ? "" : " and reads no client metadata documents";
    throw new AuthFailure(
      `${plain(issuer)} registers no clients by itself${noDocument}: register one by hand and give it as client`,
    );
  }
  const { clientId, clientSecret } = client;
  return {
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    method: client.method ?? chooseMethod(metadata, clientSecret !== undefined),
    isDynamic: false,
  };
}

async function registered(
  metadata: AuthorizationServer,
  redirectUri: string,
  scopes: readonly string[],
  { clientName = "Portolan", clientMetadata }: RegistrationOptions,
  { fetch }: RegistrationContext,
): Promise<RegisteredClient> {
  const isWeb = redirectUri.startsWith("https:");
  const method = chooseMethod(metadata, isWeb);
  const document = {
    client_name: clientName,
    ...clientMetadata,
    application_type: isWeb ? "web" : "native",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: method,
    ...(scopes.length > 0 && { scope: scopes.join(" ") }),
  };
  const answer = await post(metadata, document, fetch);
  const { client_id: clientId, client_secret: clientSecret, client_secret_expires_at: expires } = answer;
  if (typeof clientId !== "string" || clientId === "") {
    throw new AuthFailure(`${plain(metadata.issuer)} has registered this client without an id`);
  }
  return {
    clientId,
    ...(typeof clientSecret === "string" && { clientSecret }),
    method: methodOf(answer["token_endpoint_auth_method"], typeof clientSecret === "string", metadata, method),
    redirectUri,
    ...(scopes.length > 0 && { scopes }),
    ...(typeof expires === "number" && expires > 0 && { secretExpiresAt: expires * 1_000 }),
    isDynamic: true,
  };
}

type Answer = { readonly [member: string]: unknown };

/** Servers leave out of their answers what they must say about secrets: what is there is enough. */
async function post(
  { issuer, registration_endpoint: endpoint }: AuthorizationServer,
  document: object,
  fetch: SafeFetch,
): Promise<Answer> {
  const response = await fetch(endpoint ?? "", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(document),
  });
  const answer = (await response.json().catch(() => undefined)) as Answer | null | undefined;
  if (response.ok && typeof answer === "object" && answer !== null) return answer;
  const { error, error_description: description } = answer ?? {};
  const said = [error, description].filter((one) => typeof one === "string").join(": ");
  throw new AuthFailure(
    `${plain(issuer)} has not registered this client: ${plain(said || `it answered ${response.status}`)}`,
    typeof error === "string" ? { error } : {},
  );
}

/** What the answer says, if it is something we can do; else what follows from the rest of it. */
function methodOf(said: unknown, hasSecret: boolean, metadata: AuthorizationServer, asked: ClientMethod): ClientMethod {
  if (said === "none" || said === "client_secret_basic" || said === "client_secret_post") {
    if (said === "none" || hasSecret) return said;
  }
  if (asked !== "none" && hasSecret) return asked;
  return chooseMethod(metadata, hasSecret);
}

/** The best way to authenticate that an authorization server offers: with a secret where there is or can be one. */
function chooseMethod(metadata: AuthorizationServer, hasSecret: boolean): ClientMethod {
  const offered = metadata.token_endpoint_auth_methods_supported;
  const secretMethods = ["client_secret_basic", "client_secret_post"] as const;
  const secretMethod = secretMethods.find((method) => offered === undefined || offered.includes(method));
  if (hasSecret) return secretMethod ?? "client_secret_basic";
  // Programs on people's machines keep no secret; some authorization servers insist on giving them one.
  return offered === undefined || offered.includes("none") ? "none" : (secretMethod ?? "none");
}
