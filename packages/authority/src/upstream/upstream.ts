import type { IncomingMessage, ServerResponse } from "node:http";
import { generateRandomCodeVerifier, generateRandomNonce, generateRandomState } from "oauth4webapi";
import type Provider from "oidc-provider";
import type { Interaction, InteractionResults } from "oidc-provider";
import { sha256 } from "portolan/storage";
import { browserOf, redirect, sendPage } from "../browser.ts";
import { toFailureResponse } from "../failure.ts";
import { endOtherSession, scopeOf, writeGrant } from "../grants.ts";
import { dayMs, maxUpstreamCheckSeconds, upstreamLoginMs } from "../limits.ts";
import type { AuthorityEvent } from "../options.ts";
import { expiredPage } from "../pages/messages.ts";
import { reportLostSignIn } from "../report-lost.ts";
import type { Settings } from "../settings.ts";
import { UpstreamClient, type UpstreamLogin } from "./client.ts";
import type { UpstreamSignIn } from "./options.ts";
import { UpstreamTokenStore } from "./token-store.ts";

/** An upstream login that started here, after the person gave consent. */
interface PendingUpstreamLogin extends UpstreamLogin {
  /** The authorization request that was allowed; its client, redirect, scopes and servers cannot change. */
  readonly uid: string;
  /** The digest of the browser in which consent was given. */
  readonly browser: string;
}

/** The end of an upstream login, and the events that tell of it when it is stored. */
interface Finished {
  readonly result: InteractionResults;
  readonly events: readonly AuthorityEvent[];
}

/** The client of the upstream provider, and the tokens stored for it. */
export interface UpstreamConnection {
  readonly signIn: UpstreamSignIn;
  readonly client: UpstreamClient;
  readonly tokens: UpstreamTokenStore;
}

/** Sends people to the upstream provider after their consent, and handles their return. */
export class Upstream {
  readonly name: string;
  readonly #settings: Settings;
  readonly #provider: Provider;
  readonly #connection: UpstreamConnection;

  constructor(settings: Settings, provider: Provider, connection: UpstreamConnection) {
    this.name = connection.signIn.name ?? new URL(connection.signIn.issuer).host;
    this.#settings = settings;
    this.#provider = provider;
    this.#connection = connection;
  }

  /** Starts an upstream login after consent. Returns the URL to send this browser to. */
  async begin(interaction: Interaction, browserId: string): Promise<string> {
    const attempt: PendingUpstreamLogin = {
      state: generateRandomState(),
      nonce: generateRandomNonce(),
      verifier: generateRandomCodeVerifier(),
      uid: interaction.uid,
      browser: await sha256(browserId),
    };
    const address = await this.#connection.client.addressFor(attempt);
    await this.#settings.rows.set(await this.#keyOf(attempt.state), attempt, upstreamLoginMs);
    return address;
  }

  /** Handles the callback: once, and only in the browser in which consent was given. */
  async callback(query: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const settings = this.#settings;
    const attempt = await settings.rows.take<PendingUpstreamLogin>(await this.#keyOf(query.get("state") ?? ""));
    const browser = browserOf(request, response, settings);
    if (!attempt) this.#reportLost(request);
    if (!attempt || attempt.browser !== (await sha256(browser.id))) {
      return sendPage(response, attempt ? 403 : 400, expiredPage(settings.options.name));
    }
    const interaction = await this.#provider.Interaction.find(attempt.uid);
    if (!interaction) {
      this.#reportLost(request);
      return sendPage(response, 400, expiredPage(settings.options.name));
    }
    const { result, events } = await this.#finish(interaction, attempt, query, request, response);
    interaction.result = result;
    await interaction.persist();
    for (const event of events) settings.emit(event);
    redirect(response, interaction.returnTo);
  }

  async #finish(
    interaction: Interaction,
    attempt: PendingUpstreamLogin,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<Finished> {
    const settings = this.#settings;
    const { client } = this.#connection;
    const clientId = String(interaction.params["client_id"]);
    const scope = scopeOf(interaction.params);
    if (query.get("error") === "access_denied") {
      const result = {
        error: "access_denied",
        error_description: `${this.name} was not allowed to sign the person in`,
      };
      return { result, events: [{ type: "denied", clientId, scope }] };
    }
    try {
      const [subject, tokens] = await client.redeem(query, attempt);
      const grantId = await writeGrant(this.#provider, settings, interaction, subject);
      await this.#connection.tokens.keep(grantId, tokens);
      await endOtherSession(this.#provider, interaction, subject, request, response);
      return {
        result: { login: { accountId: subject }, consent: { grantId } },
        events: [
          { type: "signed-in", subject, clientId },
          { type: "allowed", subject, clientId, scope },
        ],
      };
    } catch (error) {
      settings.reportError(error);
      const { status, body } = toFailureResponse(settings, error);
      if (status === 503) return { result: body, events: [] };
      const result = { error: "server_error", error_description: `the sign-in with ${this.name} failed` };
      const address = settings.addressOf(request);
      return { result, events: [{ type: "sign-in-failed", reason: "upstream", address }] };
    }
  }

  #reportLost(request: IncomingMessage): void {
    reportLostSignIn(this.#settings, request, [this.#settings.cookieName("browser")]);
  }

  #keyOf(state: string): Promise<string> {
    return this.#settings.rows.keyOf("upstream-state", state);
  }
}

/** Connects the authority with the upstream provider; `ended` is called when a grant's session has ended there. */
export function connectUpstream(
  settings: Settings,
  signIn: UpstreamSignIn,
  ended: (grantId: string) => Promise<void>,
): UpstreamConnection {
  const { rows, issuer, mount, refreshTokenSeconds, reportError } = settings;
  const client = new UpstreamClient(signIn, `${issuer.origin}${mount}/callback`);
  const checkMs = Math.min(signIn.checkSeconds ?? maxUpstreamCheckSeconds, maxUpstreamCheckSeconds) * 1_000;
  const keepMs = refreshTokenSeconds * 1_000 + dayMs;
  return { signIn, client, tokens: new UpstreamTokenStore({ rows, client, checkMs, keepMs, ended, reportError }) };
}
