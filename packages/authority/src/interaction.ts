import type { IncomingMessage, ServerResponse } from "node:http";
import type Provider from "oidc-provider";
import type { Client, Interaction, InteractionResults } from "oidc-provider";
import { type Browser, browserOf, readForm, sendPage } from "./browser.ts";
import { factsOf } from "./clients.ts";
import { leaveOther, scopeOf, wantedIn, writeGrant } from "./grants.ts";
import { consentPage, signInPage } from "./pages/forms.ts";
import { expiredPage, leavingPage, problemPage } from "./pages/messages.ts";
import { isWithin, uncount } from "./rate-limit.ts";
import type { Settings } from "./settings.ts";
import type { Upstream } from "./upstream/upstream.ts";

/** How many wrong passwords there may be, for one name from one address, from one address, and for one name. */
const attempts = [
  ["both", { most: 10, windowMs: 15 * 60_000 }],
  ["address", { most: 60, windowMs: 15 * 60_000 }],
  ["name", { most: 100, windowMs: 60 * 60_000 }],
] as const;

/** What a page is about. */
interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly interaction: Interaction;
  readonly client: Client;
  readonly browser: Browser;
}

/** Asks people: who they are, and what they allow. */
export class Interactions {
  readonly #settings: Settings;
  readonly #provider: Provider;
  readonly #upstream: Upstream | undefined;

  constructor(settings: Settings, provider: Provider, upstream: Upstream | undefined) {
    this.#settings = settings;
    this.#provider = provider;
    this.#upstream = upstream;
  }

  /** Serves the page of one question, and takes its answer. */
  async serve(uid: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const visit = await this.#visitOf(uid, request, response);
    if (!visit) return this.#expired(response);
    if (request.method !== "POST") return this.#show(visit);
    const form = await readForm(request);
    const site = request.headers["sec-fetch-site"];
    const isOurs = site === undefined || site === "same-origin";
    if (!form || !isOurs || !visit.browser.isTokenFor(uid, form.get("token") ?? undefined)) {
      return this.#expired(response, 403);
    }
    switch (form.get("do")) {
      case "sign-in":
        return this.#signIn(visit, form.get("name") ?? "", form.get("password") ?? "");
      case "allow":
        return this.#allow(visit);
      case "deny":
        return this.#deny(visit);
      case "switch":
        return this.#switch(visit);
      default:
        return this.#show(visit);
    }
  }

  async #visitOf(uid: string, request: IncomingMessage, response: ServerResponse): Promise<Visit | undefined> {
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

  async #show(visit: Visit): Promise<void> {
    const { interaction, response } = visit;
    if (this.#upstream || interaction.prompt.name === "consent") return this.#ask(visit);
    sendPage(response, 200, signInPage(this.#signInFacts(visit)));
  }

  async #ask(visit: Visit): Promise<void> {
    const { interaction, client, response } = visit;
    const subject = interaction.session?.accountId;
    const person = subject === undefined ? undefined : await this.#nameOf(subject);
    const servers = wantedIn(interaction, this.#settings).map(({ resource, scopes }) => {
      const known = this.#settings.resourceOf(resource);
      const { host } = new URL(resource);
      return {
        name: known?.name ?? host,
        host,
        scopes: scopes.map((scope) => known?.scopes[scope] ?? scope),
      };
    });
    const page = consentPage({
      ...this.#target(visit),
      authorityName: this.#settings.options.name,
      client: factsOf(client, String(interaction.params["redirect_uri"]), this.#settings),
      servers,
      staysConnected: client.grantTypeAllowed("refresh_token"),
      ...(this.#upstream ? { nextName: this.#upstream.name } : person !== undefined && { person }),
    });
    sendPage(response, 200, page);
  }

  async #nameOf(subject: string): Promise<string> {
    const { signIn } = this.#settings;
    const person = signIn.kind === "passwords" ? await signIn.find(subject) : undefined;
    return person?.name ?? subject;
  }

  #target({ interaction, browser }: Visit) {
    return { action: `${this.#settings.mount}/page/${interaction.uid}`, token: browser.tokenFor(interaction.uid) };
  }

  #signInFacts(visit: Visit) {
    const { client, interaction } = visit;
    const { name } = factsOf(client, String(interaction.params["redirect_uri"]), this.#settings);
    return { ...this.#target(visit), authorityName: this.#settings.options.name, clientName: name };
  }

  async #signIn(visit: Visit, userName: string, password: string): Promise<void> {
    const { signIn, tell } = this.#settings;
    const { request, response, interaction, client } = visit;
    if (signIn.kind !== "passwords" || interaction.prompt.name !== "login") return this.#show(visit);
    const address = this.#settings.addressOf(request);
    if (!(await this.#mayTry(userName, address))) {
      tell({ type: "sign-in-failed", reason: "limit", address });
      const problem = "There were too many attempts. Wait a quarter of an hour and try again.";
      return sendPage(response, 429, signInPage({ ...this.#signInFacts(visit), userName, problem }));
    }
    const person = await signIn.verify(userName, password);
    if (!person) {
      tell({ type: "sign-in-failed", reason: "credentials", address });
      const problem = "The user name or the password is wrong.";
      return sendPage(response, 401, signInPage({ ...this.#signInFacts(visit), userName, problem }));
    }
    await this.#wasRight(userName, address);
    tell({ type: "signed-in", subject: person.subject, clientId: client.clientId });
    await leaveOther(this.#provider, interaction, person.subject, request, response);
    await this.#finish(visit, { login: { accountId: person.subject } });
  }

  /** Counts an attempt before it is made, so that many at once count too. */
  async #mayTry(userName: string, address: string): Promise<boolean> {
    for (const [what, limit] of attempts) {
      if (!(await isWithin(this.#settings.rows, `password-${what}`, whoOf(what, userName, address), limit)))
        return false;
    }
    return true;
  }

  async #wasRight(userName: string, address: string): Promise<void> {
    for (const [what, limit] of attempts) {
      await uncount(this.#settings.rows, `password-${what}`, whoOf(what, userName, address), limit);
    }
  }

  async #allow(visit: Visit): Promise<void> {
    const { interaction, client } = visit;
    if (this.#upstream) return this.#sendUpstream(visit, this.#upstream);
    const subject = interaction.session?.accountId;
    if (subject === undefined || interaction.prompt.name !== "consent") return this.#show(visit);
    const grantId = await writeGrant(this.#provider, this.#settings, interaction, subject);
    this.#settings.tell({ type: "allowed", subject, clientId: client.clientId, scope: scopeOf(interaction.params) });
    await this.#finish(visit, { consent: { grantId } });
  }

  async #sendUpstream({ interaction, browser, response }: Visit, upstream: Upstream): Promise<void> {
    const { name } = this.#settings.options;
    try {
      sendPage(response, 200, leavingPage(name, await upstream.begin(interaction, browser.id)));
    } catch (error) {
      this.#settings.fail(error);
      sendPage(
        response,
        502,
        problemPage(name, `${upstream.name} cannot be reached now. Go back and try again later.`),
      );
    }
  }

  async #deny(visit: Visit): Promise<void> {
    const { interaction, client } = visit;
    const subject = interaction.session?.accountId;
    const scope = scopeOf(interaction.params);
    this.#settings.tell({
      type: "denied",
      clientId: client.clientId,
      scope,
      ...(subject !== undefined && { subject }),
    });
    await this.#finish(visit, { error: "access_denied", error_description: "the person did not allow it" });
  }

  /** Forgets who is signed in and asks again from the start. */
  async #switch(visit: Visit): Promise<void> {
    const { interaction, request, response } = visit;
    await leaveOther(this.#provider, interaction, undefined, request, response);
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(interaction.params)) {
      for (const one of [value].flat()) if (typeof one === "string") query.append(name, one);
    }
    const address = `${this.#settings.mount}/authorize?${query}`;
    sendPage(response, 200, leavingPage(this.#settings.options.name, address));
  }

  async #finish({ request, response }: Visit, result: InteractionResults): Promise<void> {
    const address = await this.#provider.interactionResult(request, response, result);
    sendPage(response, 200, leavingPage(this.#settings.options.name, address));
  }

  #expired(response: ServerResponse, status = 400): void {
    sendPage(response, status, expiredPage(this.#settings.options.name));
  }
}

function whoOf(what: "both" | "address" | "name", userName: string, address: string): string {
  return { both: `${address} ${userName}`, address, name: userName }[what];
}
