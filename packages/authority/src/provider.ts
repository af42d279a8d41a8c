import Provider, { type Configuration } from "oidc-provider";
import { isRegistered, redirectProblem } from "./clients.ts";
import { maxClientNameChars, maxRedirectUris } from "./limits.ts";
import type { Settings } from "./settings.ts";

const grantTypes = ["authorization_code", "refresh_token"];

/** The metadata of a client while the provider validates it. */
interface ClientMetadata {
  client_name?: string;
  redirect_uris?: readonly unknown[];
  grant_types: readonly string[];
  response_types: readonly string[];
  response_modes: readonly string[];
  id_token_signed_response_alg: string;
  scope?: string;
  invalidate(why: string): never;
}

interface ClientSchema {
  normalizeResponseTypes(this: ClientMetadata): void;
  redirectUris(this: ClientMetadata): void;
  scopes(this: ClientMetadata): void;
}

/** Creates the provider, with our own rules for clients and for its own URLs. */
export function createProvider({ options }: Settings, configuration: Configuration): Provider {
  const provider = new Provider(options.issuer, configuration);
  // Trusts x-forwarded-proto, which the listener has set.
  provider.proxy = true;

  // Its URLs follow the issuer, not the Host header of a request.
  Object.defineProperty(provider.OIDCContext.prototype, "urlFor", {
    value: (name: string, parameters?: { readonly [name: string]: unknown }) => provider.urlFor(name, parameters),
  });

  Object.defineProperty(provider.Client.prototype, "redirectUriAllowed", {
    value(this: { readonly redirectUris: readonly string[] }, uri: string): boolean {
      return isRegistered(uri, this.redirectUris);
    },
  });

  const { prototype } = (provider.Client as unknown as { readonly Schema: { readonly prototype: ClientSchema } })
    .Schema;
  const { normalizeResponseTypes } = prototype;
  const rules: ClientSchema = {
    // Clients declare everything they can do; unsupported values are removed, and the response shows the rest.
    normalizeResponseTypes() {
      normalizeResponseTypes.call(this);
      this.grant_types = this.grant_types.filter((type) => grantTypes.includes(type));
      this.response_types = this.response_types.filter((type) => type === "code");
      this.response_modes = ["query"];
      this.id_token_signed_response_alg = "ES256";
    },
    redirectUris() {
      const { redirect_uris: uris = [] } = this;
      if (uris.length > maxRedirectUris) this.invalidate(`redirect_uris: expected at most ${maxRedirectUris}`);
      for (const uri of uris) {
        const problem = redirectProblem(uri, options.registration?.privateSchemes);
        if (problem !== undefined) this.invalidate(`redirect_uris: ${problem}`);
      }
      if ((this.client_name ?? "").length > maxClientNameChars) {
        this.invalidate(`client_name: expected at most ${maxClientNameChars} characters`);
      }
    },
    // The scopes belong to a resource server, which is unknown here; the person decides about them later.
    scopes() {
      delete this.scope;
    },
  };
  for (const [name, value] of Object.entries(rules)) Object.defineProperty(prototype, name, { value });
  return provider;
}
