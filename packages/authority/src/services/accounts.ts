import type { IncomingMessage, ServerResponse } from "node:http";
import { generateRandomCodeVerifier, generateRandomNonce, generateRandomState } from "oauth4webapi";
import type Provider from "oidc-provider";
import { PortolanError } from "portolan";
import { sha256 } from "portolan/storage";
import { type Browser, browserOf, readForm, redirect, sendPage } from "../browser.ts";
import type { ServiceAccounts } from "../create.ts";
import { toFailureResponse } from "../failure.ts";
import {
  connectedMs,
  connectedRetryMs,
  interactionSeconds,
  maxUpstreamCheckSeconds,
  upstreamLoginMs,
} from "../limits.ts";
import { connectedPage, connectPage } from "../pages/accounts.ts";
import { signInPage } from "../pages/forms.ts";
import { errorPage, expiredPage, redirectPage } from "../pages/messages.ts";
import { tryPassword } from "../password-attempts.ts";
import type { Settings } from "../settings.ts";
import { UpstreamClient, type UpstreamLogin } from "../upstream/client.ts";
import type { UpstreamOptions } from "../upstream/options.ts";
import { UpstreamTokenStore } from "../upstream/token-store.ts";
import type { Person } from "../users.ts";

/** A sign-in at a service that a person has begun. */
interface PendingSignIn extends UpstreamLogin {
  readonly service: string;
  readonly subject: string;
  /** The digest of the browser in which it was begun. */
  readonly browser: string;
}

/** A service that people connect their accounts with. */
interface Service {
  /** Its name in addresses. */
  readonly id: string;
  /** The name that people see. */
  readonly name: string;
  readonly page: string;
  readonly client: UpstreamClient;
  readonly tokens: UpstreamTokenStore;
}

/** A request for the page of a service. */
interface PageRequest {
  readonly service: Service;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly browser: Browser;
}

/**
 * The pages where people connect their accounts at services with their account here. The address of a page has no
 * secrets: the browser says who the person is, so nobody can be led to connect an account for somebody else.
 */
export class Services {
  readonly #settings: Settings;
  readonly #provider: Provider;
  readonly #services: ReadonlyMap<string, Service>;

  constructor(settings: Settings, provider: Provider, services: { readonly [id: string]: UpstreamOptions }) {
    this.#settings = settings;
    this.#provider = provider;
    this.#services = new Map(Object.entries(services).map(([id, options]) => [id, this.#toService(id, options)]));
  }

  #toService(id: string, options: UpstreamOptions): Service {
    const { rows, issuer, mount, reportError } = this.#settings;
    const page = `${issuer.origin}${mount}/connect/${id}`;
    const client = new UpstreamClient(options, `${page}/callback`);
    const checkMs = maxUpstreamCheckSeconds * 1_000;
    const ended = async (key: string) => rows.delete(await rows.keyOf("upstream", key));
    const tokens = new UpstreamTokenStore({ rows, client, checkMs, keepMs: connectedMs, ended, reportError });
    return { id, name: options.name ?? new URL(options.issuer).host, page, client, tokens };
  }

  /** Returns how a server uses the accounts of people at a service. Throws for a service that is not configured. */
  accountsAt(id: string): ServiceAccounts {
    const service = this.#services.get(id);
    if (!service) {
      const known = [...this.#services.keys()].join(", ") || "none";
      throw new PortolanError(
        "invalid-argument",
        `accountsAt: expected one of the names in \`services\` (${known}), got ${id}`,
      );
    }
    const { tokens, page } = service;
    const tokenOf = (subject: string) => tokens.validToken(keyOf(service, subject));
    return {
      async tokenOf({ subject }) {
        const token = await tokenOf(subject);
        if (token !== undefined) return token;
        throw new PortolanError("unauthorized", `${subject} has not connected an account at ${service.name}`);
      },
      ended: ({ subject }) => this.#end(service, subject),
      signInPage: {
        address: page,
        finished: ({ subject }, signal) => this.#finished(service, subject, signal),
      },
    };
  }

  async #end(service: Service, subject: string): Promise<void> {
    await service.tokens.release(keyOf(service, subject));
    this.#settings.emit({ type: "account-disconnected", subject, service: service.id });
  }

  /** Resolves when a person has connected an account, in this process or another one. */
  async #finished(service: Service, subject: string, signal: AbortSignal): Promise<void> {
    const { bus } = this.#settings.rows.storage;
    let wake = (): void => {};
    const aborted = () => wake();
    const unsubscribe = await bus.subscribe(
      await this.#topicOf(service, subject),
      () => wake(),
      () => wake(),
    );
    signal.addEventListener("abort", aborted);
    try {
      for (;;) {
        signal.throwIfAborted();
        // Before it is looked: what comes while it is looked must not be missed.
        const heard = new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, connectedRetryMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        if ((await service.tokens.validToken(keyOf(service, subject))) !== undefined) return;
        await heard;
      }
    } finally {
      wake();
      signal.removeEventListener("abort", aborted);
      await unsubscribe();
    }
  }

  #topicOf({ id }: Service, subject: string): Promise<string> {
    return this.#settings.rows.keyOf("connected", id, subject);
  }

  /** Serves the page of a service, handles its form, and the return from the service. */
  async serve(path: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [id = "", callback] = path.split("/");
    const service = this.#services.get(id);
    if (!service) return void response.writeHead(404).end();
    const page = { service, request, response, browser: browserOf(request, response, this.#settings) };
    if (callback !== undefined) return this.#callback(page, query);
    if (request.method !== "POST") return this.#show(page);
    const form = await readForm(request);
    const site = request.headers["sec-fetch-site"];
    const isOurs = site === undefined || site === "same-origin";
    if (!form || !isOurs || !(await page.browser.isTokenFor(pageIdOf(service), form.get("token") ?? undefined))) {
      return sendPage(response, 403, expiredPage(this.#settings.options.name));
    }
    if (form.get("do") === "sign-in") return this.#signIn(page, form.get("name") ?? "", form.get("password") ?? "");
    if (form.get("do") === "switch") return this.#switch(page);
    const person = await this.#personAt(page);
    if (!person) return this.#show(page);
    if (form.get("do") === "connect") return this.#begin(page, person);
    if (form.get("do") === "disconnect") await this.#end(service, person.subject);
    return this.#show(page);
  }

  async #show(page: PageRequest): Promise<void> {
    const { service, response } = page;
    const person = await this.#personAt(page);
    if (!person) return this.#askWho(page, 200);
    const isConnected = (await service.tokens.validToken(keyOf(service, person.subject))) !== undefined;
    const facts = {
      ...this.#target(page),
      authorityName: this.#settings.options.name,
      serviceName: service.name,
      person: person.name,
      isConnected,
      maySwitch: this.#settings.signIn.kind === "passwords",
    };
    sendPage(response, 200, connectPage(facts));
  }

  /** Asks for a password; where another provider signs people in, their app does that. */
  #askWho(
    page: PageRequest,
    status: number,
    more: { readonly userName?: string; readonly problem?: string } = {},
  ): void {
    const { service, response } = page;
    const { options, signIn } = this.#settings;
    if (signIn.kind !== "passwords") {
      const what = `You are not signed in to ${options.name} in this browser. Sign in with your app in this browser, then open this page again.`;
      sendPage(response, 401, errorPage(options.name, what));
      return;
    }
    const next = `Next you will be asked whether to connect your account at ${service.name}.`;
    const facts = { ...this.#target(page), authorityName: options.name, next, ...more };
    sendPage(response, status, signInPage(facts));
  }

  #target({ service, browser }: PageRequest) {
    const { mount } = this.#settings;
    return { action: `${mount}/connect/${service.id}`, token: browser.tokenFor(pageIdOf(service)) };
  }

  /** Returns who is signed in here in this browser. */
  async #personAt({ request, response, browser }: PageRequest): Promise<Person | undefined> {
    const { rows, signIn } = this.#settings;
    if (signIn.kind === "development") return { subject: signIn.subject, name: signIn.subject };
    const session = await this.#provider.Session.get(this.#provider.createContext(request, response) as never);
    const subject = session.accountId ?? (await rows.get<string>(await this.#browserKeyOf(browser)));
    if (subject === undefined) return undefined;
    return signIn.kind === "passwords" ? signIn.find(subject) : { subject, name: subject };
  }

  #browserKeyOf(browser: Browser): Promise<string> {
    return this.#settings.rows.keyOf("connecting-browser", browser.id);
  }

  async #signIn(page: PageRequest, userName: string, password: string): Promise<void> {
    const { rows, signIn } = this.#settings;
    if (signIn.kind !== "passwords") return this.#show(page);
    const attempt = await tryPassword(this.#settings, page.request, userName, password);
    if (!attempt.person) return this.#askWho(page, attempt.status, { userName, problem: attempt.problem });
    await rows.set(await this.#browserKeyOf(page.browser), attempt.person.subject, interactionSeconds * 1_000);
    return this.#show(page);
  }

  /** Ends the session of this browser, so that another person can sign in. */
  async #switch(page: PageRequest): Promise<void> {
    const { rows } = this.#settings;
    await rows.delete(await this.#browserKeyOf(page.browser));
    const context = this.#provider.createContext(page.request, page.response);
    const session = await this.#provider.Session.get(context as never);
    if (session.accountId !== undefined) await session.destroy();
    this.#askWho(page, 200);
  }

  /** Sends this browser to the service. */
  async #begin({ service, browser, response }: PageRequest, { subject }: Person): Promise<void> {
    const { rows, options, reportError } = this.#settings;
    const pending: PendingSignIn = {
      state: generateRandomState(),
      nonce: generateRandomNonce(),
      verifier: generateRandomCodeVerifier(),
      service: service.id,
      subject,
      browser: await sha256(browser.id),
    };
    let address: string;
    try {
      address = await service.client.addressFor(pending);
    } catch (error) {
      reportError(error);
      const what = `${service.name} cannot be reached now. Try again later.`;
      return sendPage(response, 503, errorPage(options.name, what));
    }
    await rows.set(await rows.keyOf("service-state", pending.state), pending, upstreamLoginMs);
    sendPage(response, 200, redirectPage(options.name, address));
  }

  /** Handles the return from the service: once, and only in the browser that was sent there. */
  async #callback({ service, browser, response }: PageRequest, query: URLSearchParams): Promise<void> {
    const { rows, options, reportError, emit } = this.#settings;
    const pending = await rows.take<PendingSignIn>(await rows.keyOf("service-state", query.get("state") ?? ""));
    const isOurs = pending?.service === service.id && pending.browser === (await sha256(browser.id));
    if (!pending || !isOurs) return sendPage(response, pending ? 403 : 400, expiredPage(options.name));
    if (query.get("error") === "access_denied") return redirect(response, service.page);
    const { subject } = pending;
    try {
      const [, tokens] = await service.client.redeem(query, pending);
      await service.tokens.keep(keyOf(service, subject), tokens);
    } catch (error) {
      reportError(error);
      const { status, page } = toFailureResponse(this.#settings, error);
      if (status === 503) return sendPage(response, status, page);
      const what = `The sign-in at ${service.name} failed. Open this page again: ${service.page}`;
      return sendPage(response, 502, errorPage(options.name, what));
    }
    emit({ type: "account-connected", subject, service: service.id });
    await rows.storage.bus.publish(await this.#topicOf(service, subject), "");
    sendPage(response, 200, connectedPage(options.name, service.name));
  }
}

function pageIdOf({ id }: Service): string {
  return `connect ${id}`;
}

/** Returns what the tokens of a person at a service are stored under, where those of sign-ins have the id of a grant. */
function keyOf({ id }: Service, subject: string): string {
  return JSON.stringify(["service", id, subject]);
}
