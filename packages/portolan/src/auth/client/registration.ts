import type { AuthorizationServer } from "oauth4webapi";
import type { SafeFetch } from "../../net/policy.ts";
import type { ClientAuthMethod, RegisteredClient, Vault } from "./credential.ts";
import type { Authority } from "./discovery.ts";
import { AuthFailure, oneLine } from "./errors.ts";

/** A client that was registered with its authorization server by hand. */
export interface KnownClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** How the secret is sent. Default: as the authorization server prefers. */
  readonly method?: "client_secret_basic" | "client_secret_post";
  /** The authorization server it is registered with. Default: the first one that it is used with. */
  readonly issuer?: string;
}

/** How this program becomes a client of authorization servers. */
export interface RegistrationOptions {
  /** A client that was registered by hand. */
  readonly client?: KnownClient;
  /** The https URL of a client metadata document, for authorization servers that support them. */
  readonly clientMetadataUrl?: string;
  /** The name that people see when they are asked for consent. Default: "Portolan". */
  readonly clientName?: string;
  /** More members of the registration request: `client_uri`, `logo_uri`, `contacts`… */
  readonly clientMetadata?: { readonly [member: string]: unknown };
  /**
   * A client that a person has registered by hand, for the next login. Unlike `client`, it is stored with its secret,
   * for its authorization server, and replaces the one that was stored there.
   */
  readonly newClient?: KnownClient;
  /** Asks a person for a client that they have registered by hand. Used only where no other way works. */
  readonly askClient?: (issuer: string, about: ClientQuestion) => Promise<KnownClient | undefined>;
}

/** The circumstances in which a person is asked for a client. */
export interface ClientQuestion {
  /** The server named no authorization server: its own address is tried, and it may have no authorization server at all. */
  readonly isGuessed: boolean;
}

export interface RegistrationContext {
  readonly vault: Vault;
  readonly fetch: SafeFetch;
  readonly now: () => number;
}

/** Returns the client to use at an authorization server, if no new registration is needed. */
export async function knownClient(
  { issuer, metadata }: Authority,
  options: RegistrationOptions,
  { vault, now }: RegistrationContext,
): Promise<RegisteredClient | undefined> {
  const { client, newClient, clientMetadataUrl } = options;
  if (client) return configuredClient(client, issuer, metadata, vault);
  if (newClient) return toRegistered(newClient, metadata);
  if (clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true) {
    return { clientId: clientMetadataUrl, method: "none", isDynamic: false };
  }
  const kept = await vault.readClient(issuer);
  const isExpired = kept?.secretExpiresAt !== undefined && kept.secretExpiresAt <= now();
  return isExpired ? undefined : kept;
}

async function configuredClient(
  client: KnownClient,
  issuer: string,
  metadata: AuthorizationServer,
  vault: Vault,
): Promise<RegisteredClient> {
  const { clientId } = client;
  const bound = client.issuer ?? (await vault.bind(clientId, issuer));
  if (bound !== issuer) {
    throw new AuthFailure(
      `The client ${oneLine(clientId)} is registered with ${oneLine(bound)}, but the server now names ${oneLine(issuer)}; ` +
        "register it there and change the configuration",
    );
  }
  return toRegistered(client, metadata);
}

function toRegistered(
  { clientId, clientSecret, method }: KnownClient,
  metadata: AuthorizationServer,
): RegisteredClient {
  return {
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    method: method ?? chooseMethod(metadata, clientSecret !== undefined),
    isDynamic: false,
  };
}

/** True if a client has registered itself with fewer scopes than are needed now. */
export function isTooNarrow({ isDynamic, scopes: named }: RegisteredClient, scopes: readonly string[]): boolean {
  return isDynamic && named !== undefined && scopes.some((scope) => !named.includes(scope));
}

/** Returns a stored client with the configured secret, which is never stored. */
export function withSecret(kept: RegisteredClient, { client }: RegistrationOptions): RegisteredClient {
  return client?.clientSecret === undefined ? kept : { ...kept, clientSecret: client.clientSecret };
}

/** Registers this program, or asks a person for a client, and stores the result. */
export async function register(
  authority: Authority,
  redirectUri: string,
  scopes: readonly string[],
  options: RegistrationOptions,
  context: RegistrationContext,
): Promise<RegisteredClient> {
  const { issuer, metadata, isGuessed } = authority;
  const client =
    metadata.registration_endpoint === undefined
      ? await askForClient(authority, redirectUri, options)
      : await registerDynamically(metadata, redirectUri, scopes, options, context).catch((reason) => {
          if (!isGuessed || !(reason instanceof AuthFailure) || reason.error !== undefined) throw reason;
          // The default endpoints may work although there is no registration.
          if (options.askClient) return askForClient(authority, redirectUri, options);
          throw new AuthFailure(
            `${oneLine(issuer)} requires authorization, but names no authorization server and is none itself; ` +
              "it may require an API key in a header",
          );
        });
  await context.vault.writeClient(issuer, client);
  return client;
}

async function askForClient(
  { issuer, metadata, isGuessed }: Authority,
  redirectUri: string,
  { askClient, clientMetadataUrl }: RegistrationOptions,
): Promise<RegisteredClient> {
  const client = await askClient?.(issuer, { isGuessed });
  if (client) return { ...toRegistered(client, metadata), redirectUri };
  const noDocument = clientMetadataUrl === undefined ? "" : " and does not support client metadata documents";
  throw new AuthFailure(
    `${oneLine(issuer)} offers no client registration${noDocument}; register a client by hand and pass it as client`,
  );
}

async function registerDynamically(
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
  const response = await post(metadata, document, fetch);
  const { client_id: clientId, client_secret: clientSecret, client_secret_expires_at: expires } = response;
  if (typeof clientId !== "string" || clientId === "") {
    throw new AuthFailure(`${oneLine(metadata.issuer)} has registered this client without a client_id`);
  }
  return {
    clientId,
    ...(typeof clientSecret === "string" && { clientSecret }),
    method: methodOf(response["token_endpoint_auth_method"], typeof clientSecret === "string", metadata, method),
    redirectUri,
    ...(scopes.length > 0 && { scopes }),
    ...(typeof expires === "number" && expires > 0 && { secretExpiresAt: expires * 1_000 }),
    isDynamic: true,
  };
}

type RegistrationResponse = { readonly [member: string]: unknown };

/** Sends a registration request. Required members about secrets are missing in many responses, so they are optional here. */
async function post(
  { issuer, registration_endpoint: endpoint }: AuthorizationServer,
  document: object,
  fetch: SafeFetch,
): Promise<RegistrationResponse> {
  const httpResponse = await fetch(endpoint ?? "", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(document),
  });
  const response = (await httpResponse.json().catch(() => undefined)) as RegistrationResponse | null | undefined;
  if (httpResponse.ok && typeof response === "object" && response !== null) return response;
  const { error, error_description: description } = response ?? {};
  const said = [error, description].filter((one) => typeof one === "string").join(": ");
  throw new AuthFailure(
    `${oneLine(issuer)} has not registered this client: ${oneLine(said || `it answered with status ${httpResponse.status}`)}`,
    typeof error === "string" ? { error } : {},
  );
}

/** Returns the method that the response names, if it is usable; else the one that follows from its other members. */
function methodOf(
  said: unknown,
  hasSecret: boolean,
  metadata: AuthorizationServer,
  asked: ClientAuthMethod,
): ClientAuthMethod {
  if (said === "none" || said === "client_secret_basic" || said === "client_secret_post") {
    if (said === "none" || hasSecret) return said;
  }
  if (asked !== "none" && hasSecret) return asked;
  return chooseMethod(metadata, hasSecret);
}

/** Returns the best authentication method that an authorization server offers: with a secret where there is or can be one. */
function chooseMethod(metadata: AuthorizationServer, hasSecret: boolean): ClientAuthMethod {
  const offered = metadata.token_endpoint_auth_methods_supported;
  const secretMethods = ["client_secret_basic", "client_secret_post"] as const;
  const secretMethod = secretMethods.find((method) => offered === undefined || offered.includes(method));
  if (hasSecret) return secretMethod ?? "client_secret_basic";
  // Programs on people's machines cannot keep a secret, but some authorization servers insist on giving them one.
  return offered === undefined || offered.includes("none") ? "none" : (secretMethod ?? "none");
}
