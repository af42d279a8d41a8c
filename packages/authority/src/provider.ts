import Provider, { type Configuration } from "oidc-provider";
import { isRegistered, problemOfRedirect } from "./clients.ts";
import type { Settings } from "./settings.ts";

const maxName = 200;
const maxRedirects = 20;
const grantTypes = ["authorization_code", "refresh_token"];

/** The metadata of a client while it is checked. */
interface Described {
  client_name?: string;
  redirect_uris?: readonly unknown[];
  grant_types: readonly string[];
  response_types: readonly string[];
  response_modes: readonly string[];
  id_token_signed_response_alg: string;
  scope?: string;
  invalidate(why: string): never;
}

interface Schema {
  normalizeResponseTypes(this: Described): void;
  redirectUris(this: Described): void;
  scopes(this: Described): void;
}

/** The provider, with our own rules for clients and for its own address. */
export function createProvider({ options }: Settings, configuration: Configuration): Provider {
  const provider = new Provider(options.issuer, configuration);
  // Its header for the scheme is what the listener has written there.
  provider.proxy = true;

  // Its addresses follow the issuer, not the host that a request names.
  Object.defineProperty(provider.OIDCContext.prototype, "urlFor", {
    value: (name: string, parameters?: { readonly [name: string]: unknown }) => provider.urlFor(name, parameters),
  });

  Object.defineProperty(provider.Client.prototype, "redirectUriAllowed", {
    value(this: { readonly redirectUris: readonly string[] }, uri: string): boolean {
      return isRegistered(uri, this.redirectUris);
    },
  });

  const { prototype } = (provider.Client as unknown as { readonly Schema: { readonly prototype: Schema } }).Schema;
  const { normalizeResponseTypes } = prototype;
  const rules: Schema = {
    // Clients say all that they can do; what is not done here is left out, and the answer tells them so.
    normalizeResponseTypes() {
      normalizeResponseTypes.call(this);
      this.grant_types = this.grant_types.filter((type) => grantTypes.includes(type));
      this.response_types = this.response_types.filter((type) => type === "code");
      this.response_modes = ["query"];
      this.id_token_signed_response_alg = "ES256";
    },
    redirectUris() {
      const { redirect_uris: uris = [] } = this;
      if (uris.length > maxRedirects) this.invalidate(`redirect_uris: expected at most ${maxRedirects}`);
      for (const uri of uris) {
        const problem = problemOfRedirect(uri, options.registration?.privateSchemes);
        if (problem !== undefined) this.invalidate(`redirect_uris: ${problem}`);
      }
      if ((this.client_name ?? "").length > maxName) {
        this.invalidate(`client_name: expected at most ${maxName} characters`);
      }
    },
    // Those of a server are meant, which the provider does not know of here; a person decides about them later.
    scopes() {
      delete this.scope;
    },
  };
  for (const [name, value] of Object.entries(rules)) Object.defineProperty(prototype, name, { value });
  return provider;
}
