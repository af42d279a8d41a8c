// A server for many people behind an authority, and the people who use it.
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ElicitResult, ElicitUrlParams } from "portolan";
import { deferred, LoginRequired, memoryStore, oauth } from "portolan/auth/client";
import { protect } from "portolan/auth/server";
import { type Client, type ConnectOptions, connect } from "portolan/client";
import type { Server } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { type Authority, type AuthorityOptions, createAuthority } from "portolan-authority";
import { onTestFinished } from "vitest";
import { Browser, type Visited } from "../../authority/browser.ts";

const callback = "http://127.0.0.1:9999/callback";
export const password = "correct horse";

/** A server for many people. */
export interface Remote {
  readonly resource: string;
  readonly authority: Authority;
  readonly errors: unknown[];
}

/** Starts a server behind an authority, until the test ends. */
export async function startRemote(
  options: Pick<AuthorityOptions, "signIn" | "services" | "onEvent">,
  create: (authority: Authority) => Server,
): Promise<Remote> {
  const app = createHttpServer((request, response) =>
    authority.handle(request, response, () => mcp.node(request, response)),
  );
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    app.closeAllConnections();
    app.close();
  });
  const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
  const resource = `${origin}/mcp`;
  const errors: unknown[] = [];
  const authority = await createAuthority({
    ...options,
    issuer: origin,
    name: "Acme",
    resources: [{ resource, name: "Tools", scopes: { tools: "Use your accounts" } }],
    registration: { dynamic: true },
    onError: (error) => errors.push(error),
  });
  const auth = protect({ resource, issuers: [authority.protection], scopes: ["tools"] });
  const mcp = serveHttp(create(authority), { auth });
  onTestFinished(() => mcp.close());
  return { resource, authority, errors };
}

/** A person with a program and a browser. */
export class Person {
  readonly name: string;
  readonly auth = oauth({ redirect: deferred(callback), store: memoryStore() });
  readonly browser = new Browser((url) => url.href.startsWith(callback));
  signIns = 0;
  readonly #resource: string;
  /** Tells the fake of the service who sits in front of the browser. */
  readonly #sitDown: (name: string) => void;

  constructor(name: string, { resource }: Pick<Remote, "resource">, sitDown: (name: string) => void = () => {}) {
    this.name = name;
    this.#resource = resource;
    this.#sitDown = sitDown;
  }

  /** Connects; signs in where that is required, as a person would. */
  async connect(options: ConnectOptions = {}): Promise<Client> {
    for (let tries = 0; ; tries += 1) {
      try {
        const client = await connect(this.#resource, { ...options, auth: this.auth });
        onTestFinished(() => client.close());
        return client;
      } catch (error) {
        const reason = error instanceof Error ? (error.cause ?? error) : error;
        if (!(reason instanceof LoginRequired) || tries > 0) throw error;
        await this.#signIn(reason.authorizationUrl);
      }
    }
  }

  async #signIn(page: string): Promise<void> {
    this.signIns += 1;
    this.#sitDown(this.name);
    let visited = await this.browser.open(page);
    if (visited.text.includes('value="sign-in"')) visited = await this.signInHere(visited);
    const { url } = await this.browser.press(visited, "allow");
    await this.auth.finish(url);
  }

  /** Fills in a page that asks for a password. */
  signInHere(page: Visited): Promise<Visited> {
    return this.browser.press(page, "sign-in", { name: this.name, password });
  }

  /** Connects the account at a service on the page that a call has led to. */
  async connectAccount(address: string): Promise<Visited> {
    this.#sitDown(this.name);
    let page = await this.browser.open(address);
    if (page.text.includes('value="sign-in"')) page = await this.signInHere(page);
    return this.browser.press(page, "connect");
  }
}

/** A person whose client can open addresses. */
export class Opener extends Person {
  readonly asked: ElicitUrlParams[] = [];

  /** Connects with a client that opens addresses, by default in the person's own browser. */
  connectOpening(
    open: (address: string) => unknown = (address) => this.connectAccount(address),
    options: ConnectOptions = {},
  ): Promise<Client> {
    const openUrl = async (params: ElicitUrlParams): Promise<ElicitResult> => {
      this.asked.push(params);
      await open(params.url);
      return { action: "accept" };
    };
    return this.connect({ ...options, answers: { openUrl } });
  }
}
