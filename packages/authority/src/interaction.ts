import type { IncomingMessage, ServerResponse } from "node:http";
import type Provider from "oidc-provider";
import type { Client, Interaction, InteractionResults } from "oidc-provider";
import { type Browser, browserOf, readForm, sendPage } from "./browser.ts";
import { describeClient } from "./clients.ts";
import { toFailureResponse } from "./failure.ts";
import { endOtherSession, requestedAccess, scopeOf, writeGrant } from "./grants.ts";
import type { AuthorityEvent } from "./options.ts";
import { consentPage, signInPage } from "./pages/forms.ts";
import { errorPage, expiredPage, redirectPage } from "./pages/messages.ts";
import { tryPassword } from "./password-attempts.ts";
import { reportLostSignIn } from "./report-lost.ts";
import type { Settings } from "./settings.ts";
import type { Upstream } from "./upstream/upstream.ts";

/** A request for a sign-in or consent page. */
interface PageContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly interaction: Interaction;
  readonly client: Client;
  readonly browser: Browser;
}

/** The pages where people sign in and decide what to allow. */
export class Interactions {
  readonly #settings: Settings;
  readonly #provider: Provider;
  readonly #upstream: Upstream | undefined;

  constructor(settings: Settings, provider: Provider, upstream: Upstream | undefined) {
    this.#settings = settings;
    this.#provider = provider;
    this.#upstream = upstream;
  }

  /** Serves the page of one interaction, and handles its form. */
  async serve(uid: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const page = await this.#pageOf(uid, request, response);
    if (!page) {
      // Throws if the sign-in is there, but sealed with a secret that this process lacks.
      await this.#settings.rows.get(await this.#settings.rows.keyOf("Interaction", uid));
      reportLostSignIn(this.#settings, request);
      return this.#expired(response);
    }
    if (request.method !== "POST") return this.#show(page);
    const form = await readForm(request);
    const site = request.headers["sec-fetch-site"];
    const isOurs = site === undefined || site === "same-origin";
    if (!form || !isOurs || !(await page.browser.isTokenFor(uid, form.get("token") ?? undefined))) {
      return this.#expired(response, 403);
    }
    switch (form.get("do")) {
      case "sign-in":
        return this.#signIn(page, form.get("name") ?? "", form.get("password") ?? "");
      case "allow":
        return this.#allow(page);
      case "deny":
        return this.#deny(page);
      case "switch":
        return this.#switch(page);
      default:
        return this.#show(page);
    }
  }

  async #pageOf(uid: string, request: IncomingMessage, response: ServerResponse): Promise<PageContext | undefined> {
    try {
      const interaction = await this.#provider.interactionDetails(request, response);
      const client = await this.#provider.Client.find(String(interaction.params["client_id"]));
      if (interaction.uid !== uid || !client) return undefined;
      return { request, response, interaction, client, browser: browserOf(request, response, this.#settings) };
    } catch (error) {
      if ((error as Error).name === "SessionNotFound") return undefined;
      throw error;
    }
  }

  async #show(page: PageContext): Promise<void> {
    const { interaction, response } = page;
    if (this.#upstream || interaction.prompt.name === "consent") return this.#ask(page);
    sendPage(response, 200, signInPage(this.#signInFacts(page)));
  }

  async #ask(page: PageContext): Promise<void> {
    const { interaction, client, response } = page;
    const subject = interaction.session?.accountId;
    const person = subject === undefined ? undefined : await this.#nameOf(subject);
    const servers = requestedAccess(interaction, this.#settings).map(({ resource, scopes }) => {
      const known = this.#settings.resourceOf(resource);
      const { host } = new URL(resource);
      return {
        name: known?.name ?? host,
        host,
        scopes: scopes.map((scope) => known?.scopes[scope] ?? scope),
      };
    });
    const body = consentPage({
      ...this.#target(page),
      authorityName: this.#settings.options.name,
      client: describeClient(client, String(interaction.params["redirect_uri"]), this.#settings),
      servers,
      staysConnected: client.grantTypeAllowed("refresh_token"),
      ...(this.#upstream ? { nextName: this.#upstream.name } : person !== undefined && { person }),
    });
    sendPage(response, 200, body);
  }

  async #nameOf(subject: string): Promise<string> {
    const { signIn } = this.#settings;
    const person = signIn.kind === "passwords" ? await signIn.find(subject) : undefined;
    return person?.name ?? subject;
  }

  #target({ interaction, browser }: PageContext) {
    return { action: `${this.#settings.mount}/page/${interaction.uid}`, token: browser.tokenFor(interaction.uid) };
  }

  #signInFacts(page: PageContext) {
    const { client, interaction } = page;
    const { name } = describeClient(client, String(interaction.params["redirect_uri"]), this.#settings);
    return {
      ...this.#target(page),
      authorityName: this.#settings.options.name,
      next: `Next you will be asked what “${name}” may do.`,
      hasClient: true,
    };
  }

  async #signIn(page: PageContext, userName: string, password: string): Promise<void> {
    const { request, response, interaction, client } = page;
    if (this.#settings.signIn.kind !== "passwords" || interaction.prompt.name !== "login") return this.#show(page);
    const attempt = await tryPassword(this.#settings, request, userName, password);
    if (!attempt.person) {
      const { status, problem } = attempt;
      return sendPage(response, status, signInPage({ ...this.#signInFacts(page), userName, problem }));
    }
    const { person } = attempt;
    await endOtherSession(this.#provider, interaction, person.subject, request, response);
    const event = { type: "signed-in", subject: person.subject, clientId: client.clientId } as const;
    await this.#finish(page, { login: { accountId: person.subject } }, event);
  }

  async #allow(page: PageContext): Promise<void> {
    const { interaction, client } = page;
    if (this.#upstream) return this.#sendUpstream(page, this.#upstream);
    const subject = interaction.session?.accountId;
    if (subject === undefined || interaction.prompt.name !== "consent") return this.#show(page);
    const grantId = await writeGrant(this.#provider, this.#settings, interaction, subject);
    const event = { type: "allowed", subject, clientId: client.clientId, scope: scopeOf(interaction.params) } as const;
    await this.#finish(page, { consent: { grantId } }, event);
  }

  async #sendUpstream({ interaction, browser, response }: PageContext, upstream: Upstream): Promise<void> {
    const { name } = this.#settings.options;
    try {
      sendPage(response, 200, redirectPage(name, await upstream.begin(interaction, browser.id)));
    } catch (error) {
      this.#settings.reportError(error);
      const { status, page, headers } = toFailureResponse(this.#settings, error);
      if (status === 503) return sendPage(response, status, page, headers);
      sendPage(response, 502, errorPage(name, `${upstream.name} cannot be reached now. Go back and try again later.`));
    }
  }

  async #deny(page: PageContext): Promise<void> {
    const { interaction, client } = page;
    const subject = interaction.session?.accountId;
    const scope = scopeOf(interaction.params);
    const who = subject === undefined ? {} : { subject };
    const event = { type: "denied", clientId: client.clientId, scope, ...who } as const;
    await this.#finish(page, { error: "access_denied", error_description: "the person denied access" }, event);
  }

  /** Ends the session and starts the authorization request again. */
  async #switch(page: PageContext): Promise<void> {
    const { interaction, request, response } = page;
    await endOtherSession(this.#provider, interaction, undefined, request, response);
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(interaction.params)) {
      for (const one of [value].flat()) if (typeof one === "string") query.append(name, one);
    }
    const address = `${this.#settings.mount}/authorize?${query}`;
    sendPage(response, 200, redirectPage(this.#settings.options.name, address));
  }

  /** Stores a result, and tells of it when it is stored. */
  async #finish({ request, response }: PageContext, result: InteractionResults, event: AuthorityEvent): Promise<void> {
    const address = await this.#provider.interactionResult(request, response, result);
    this.#settings.emit(event);
    sendPage(response, 200, redirectPage(this.#settings.options.name, address));
  }

  #expired(response: ServerResponse, status = 400): void {
    sendPage(response, status, expiredPage(this.#settings.options.name));
  }
}
