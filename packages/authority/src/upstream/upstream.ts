import type { IncomingMessage, ServerResponse } from "node:http";
import { generateRandomCodeVerifier, generateRandomNonce, generateRandomState } from "oauth4webapi";
import type Provider from "oidc-provider";
import type { Interaction, InteractionResults } from "oidc-provider";
import { sha256 } from "portolan/storage";
import { browserOf, sendOn, sendPage } from "../browser.ts";
import { leaveOther, scopeOf, writeGrant } from "../grants.ts";
import { expiredPage } from "../pages/messages.ts";
import type { Settings } from "../settings.ts";
import { Remote, type RemoteAttempt } from "./client.ts";
import type { UpstreamSignIn } from "./options.ts";
import { RemoteKeeper } from "./token-store.ts";

/** How long a person may take to sign in upstream. */
const patienceMs = 15 * 60_000;

/** A login upstream that a person has begun here by allowing what was asked. */
interface Attempt extends RemoteAttempt {
  /** The request that was allowed: its client, redirect, scopes and servers stay as they are. */
  readonly uid: string;
  /** The browser in which it was allowed. */
  readonly browser: string;
}

/** The provider upstream, and the tokens of it that are kept here. */
export interface Link {
  readonly signIn: UpstreamSignIn;
  readonly remote: Remote;
  readonly keeper: RemoteKeeper;
}

/** Sends people to another provider once they have allowed what a client asks, and takes them back. */
export class Upstream {
  readonly name: string;
  readonly #settings: Settings;
  readonly #provider: Provider;
  readonly #link: Link;

  constructor(settings: Settings, provider: Provider, link: Link) {
    this.name = link.signIn.name ?? new URL(link.signIn.issuer).host;
    this.#settings = settings;
    this.#provider = provider;
    this.#link = link;
  }

  /** Called when a person has allowed what is asked, and only then: the address to send this browser to. */
  async begin(interaction: Interaction, browserId: string): Promise<string> {
    const attempt: Attempt = {
      state: generateRandomState(),
      nonce: generateRandomNonce(),
      verifier: generateRandomCodeVerifier(),
      uid: interaction.uid,
      browser: await sha256(browserId),
    };
    const address = await this.#link.remote.addressFor(attempt);
    await this.#settings.rows.set(await this.#keyOf(attempt.state), attempt, patienceMs);
    return address;
  }

  /** Takes a person back, once and in the browser in which they allowed it. */
  async callback(query: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const settings = this.#settings;
    const attempt = await settings.rows.take<Attempt>(await this.#keyOf(query.get("state") ?? ""));
    const browser = browserOf(request, response, settings);
    if (!attempt || attempt.browser !== (await sha256(browser.id))) {
      return sendPage(response, attempt ? 403 : 400, expiredPage(settings.options.name));
    }
    const interaction = await this.#provider.Interaction.find(attempt.uid);
    if (!interaction) return sendPage(response, 400, expiredPage(settings.options.name));
    interaction.result = await this.#finish(interaction, attempt, query, request, response);
    await interaction.persist();
    sendOn(response, interaction.returnTo);
  }

  async #finish(
    interaction: Interaction,
    attempt: Attempt,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<InteractionResults> {
    const settings = this.#settings;
    const { remote, keeper } = this.#link;
    const clientId = String(interaction.params["client_id"]);
    const scope = scopeOf(interaction.params);
    if (query.get("error") === "access_denied") {
      settings.tell({ type: "denied", clientId, scope });
      return { error: "access_denied", error_description: `${this.name} was not allowed to sign the person in` };
    }
    try {
      const [subject, tokens] = await remote.redeem(query, attempt);
      const grantId = await writeGrant(this.#provider, settings, interaction, subject);
      await keeper.keep(grantId, tokens);
      await leaveOther(this.#provider, interaction, subject, request, response);
      settings.tell({ type: "signed-in", subject, clientId });
      settings.tell({ type: "allowed", subject, clientId, scope });
      return { login: { accountId: subject }, consent: { grantId } };
    } catch (error) {
      settings.fail(error);
      settings.tell({ type: "sign-in-failed", reason: "upstream", address: settings.addressOf(request) });
      return { error: "server_error", error_description: `the sign-in with ${this.name} failed` };
    }
  }

  #keyOf(state: string): Promise<string> {
    return this.#settings.rows.keyOf("upstream-state", state);
  }
}

const dayMs = 24 * 3_600_000;
const longestCheckSeconds = 60;

/** Connects an authority with the provider upstream; `ended` is called when that has ended what a grant stands on. */
export function createLink(
  settings: Settings,
  signIn: UpstreamSignIn,
  ended: (grantId: string) => Promise<void>,
): Link {
  const { rows, issuer, mount, refreshTokenSeconds, fail } = settings;
  const remote = new Remote(signIn, `${issuer.origin}${mount}/callback`);
  const checkMs = Math.min(signIn.checkSeconds ?? longestCheckSeconds, longestCheckSeconds) * 1_000;
  const keepMs = refreshTokenSeconds * 1_000 + dayMs;
  return { signIn, remote, keeper: new RemoteKeeper({ rows, remote, checkMs, keepMs, ended, fail }) };
}
