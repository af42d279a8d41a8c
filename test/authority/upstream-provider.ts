import type { IncomingMessage, ServerResponse } from "node:http";
import Provider, { type Configuration } from "oidc-provider";
import { serve } from "./kit.ts";

export interface UpstreamProviderOptions {
  readonly redirectUri: string;
  /** The provider has an introspection endpoint. */
  readonly hasIntrospection?: boolean;
}

/** An upstream provider with its own people and pages; everyone is signed in as `person`. */
export class UpstreamProvider {
  readonly issuer: string;
  readonly provider: Provider;
  /** The requests it received, as method and path. */
  readonly asked: string[] = [];
  person = "zoe";
  denies = false;
  /** Answers everything with 500 while it is set. */
  isDown = false;
  /** Answers requests for its metadata with 500 while it is set. */
  hidesMetadata = false;
  readonly #grants: string[] = [];

  private constructor(issuer: string, provider: Provider) {
    this.issuer = issuer;
    this.provider = provider;
  }

  static async start({ redirectUri, hasIntrospection = true }: UpstreamProviderOptions): Promise<UpstreamProvider> {
    let upstream: UpstreamProvider | undefined;
    await serve(async (origin) => {
      const provider = quietly(() => new Provider(origin, toConfiguration(redirectUri, hasIntrospection)));
      const known = new UpstreamProvider(origin, provider);
      upstream = known;
      const provide = provider.callback();
      return (request, response) => {
        const [path = ""] = (request.url ?? "").split("?");
        known.asked.push(`${request.method} ${path}`);
        const isHidden = known.hidesMetadata && path.startsWith("/.well-known/");
        if (known.isDown || isHidden) return void response.writeHead(500).end();
        if (!path.startsWith("/interaction/")) return void provide(request, response);
        known.#interact(request, response).catch((error) => response.writeHead(500).end(String(error)));
      };
    });
    return upstream!;
  }

  async #interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session } = await this.provider.interactionDetails(request, response);
    if (this.denies) return this.provider.interactionFinished(request, response, { error: "access_denied" });
    if (prompt.name === "login") {
      return this.provider.interactionFinished(request, response, { login: { accountId: this.person } });
    }
    const clientId = String(params["client_id"]);
    const grant = new this.provider.Grant({ accountId: session?.accountId ?? this.person, clientId });
    grant.addOIDCScope(String(params["scope"]));
    const grantId = await grant.save();
    this.#grants.push(grantId);
    await this.provider.interactionFinished(request, response, { consent: { grantId } });
  }

  /** Revokes what people have allowed, as an administrator or the person would. */
  async endAll(): Promise<void> {
    for (const grantId of this.#grants) {
      await this.provider.Grant.adapter.destroy(grantId);
      await this.provider.AccessToken.revokeByGrantId(grantId);
      await this.provider.RefreshToken.revokeByGrantId(grantId);
    }
  }

  /** Returns its introspection of one of its tokens. */
  async knows(token: string): Promise<boolean> {
    const found = (await this.provider.AccessToken.find(token)) ?? (await this.provider.RefreshToken.find(token));
    return found?.isValid === true;
  }

  countOf(asked: string): number {
    return this.asked.filter((one) => one === asked).length;
  }
}

/** Suppresses the warning that keys and storage are for development only. */
function quietly<T>(make: () => T): T {
  const { warn } = console;
  console.warn = () => {};
  try {
    return make();
  } finally {
    console.warn = warn;
  }
}

function toConfiguration(redirectUri: string, hasIntrospection: boolean): Configuration {
  return {
    clients: [
      {
        client_id: "authority",
        client_secret: "between-the-two",
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
      },
    ],
    cookies: { keys: ["upstream-cookie-key"], names: { session: "up", interaction: "up-page", resume: "up-resume" } },
    pkce: { required: () => true },
    findAccount: async (_context, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    expiresWithSession: async () => false,
    ttl: { AccessToken: 600, RefreshToken: 3_600, Grant: 3_600, Session: 3_600, Interaction: 600, IdToken: 600 },
    features: {
      devInteractions: { enabled: false },
      introspection: hasIntrospection ? { enabled: true, allowedPolicy: () => true } : { enabled: false },
      revocation: { enabled: true, allowedPolicy: () => true },
    },
  };
}
