import { protect } from "portolan/auth/server";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createAuthority } from "portolan-authority";
import { expect, onTestFinished, test } from "vitest";
import { Browser } from "../authority/browser.ts";
import { calledBack, type Json, people, serve } from "../authority/kit.ts";
import { logins } from "../peers/clients/logins.mjs";

const redirectUrl = "http://localhost:9999/callback";
const server = createServer({ name: "notes", version: "1.0.0" })
  .tool("whoami", { run: (_, { principal }) => JSON.stringify([principal.subject, principal.scopes]) })
  .tool("write", { run: () => "written" });

/** Starts our server, protected by our authority; returns its URL. */
async function startServer(): Promise<string> {
  const origin = await serve(async (origin) => {
    const resource = `${origin}/mcp`;
    const authority = await createAuthority({
      issuer: origin,
      name: "Acme",
      resources: [{ resource, name: "Notes", scopes: { read: "Read your notes", write: "Change your notes" } }],
      signIn: people(),
      registration: { dynamic: true },
    });
    const scopesFor = ({ name }: { name: string | undefined }) => (name === "write" ? ["write"] : []);
    const auth = protect({ resource, issuers: [authority.protection], scopes: ["read"], scopesFor });
    const serving = serveHttp(server, { auth });
    onTestFinished(() => serving.close(0));
    return (request, response) => authority.handle(request, response, () => serving.node(request, response));
  });
  return `${origin}/mcp`;
}

/** An OAuth provider as the SDK requires it, whose user Ada signs in and allows everything. */
class Person {
  readonly redirectUrl = redirectUrl;
  readonly clientMetadata = {
    client_name: "Notebook",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  readonly browser = new Browser((url) => url.href.startsWith(redirectUrl));
  readonly #stored = new Map<string, unknown>();
  back = new URLSearchParams();
  asked = 0;

  clientInformation = () => this.#stored.get("client");
  saveClientInformation = (client: unknown) => void this.#stored.set("client", client);
  tokens = () => this.#stored.get("tokens") as Json | undefined;
  saveTokens = (tokens: unknown) => void this.#stored.set("tokens", tokens);
  codeVerifier = () => this.#stored.get("verifier");
  saveCodeVerifier = (verifier: string) => void this.#stored.set("verifier", verifier);
  discoveryState = () => this.#stored.get("discovery");
  saveDiscoveryState = (state: unknown) => void this.#stored.set("discovery", state);

  redirectToAuthorization = async (url: URL) => {
    this.asked += 1;
    const page = await this.browser.open(url.href);
    const isNew = page.text.includes("Sign in to");
    const consent = isNew
      ? await this.browser.press(page, "sign-in", { name: "ada", password: "correct horse" })
      : page;
    this.back = calledBack(await this.browser.press(consent, "allow"));
  };
}

/** Connects a client after its user has signed in. */
async function logIn(name: string) {
  const { Client, Transport } = logins[name]!;
  const url = await startServer();
  const person = new Person();
  const open = () => new Transport(new URL(url), { authProvider: person });
  const first = open();
  await expect(new Client({ name, version: "1.0.0" }).connect(first)).rejects.toThrow();
  expect(person.asked).toBe(1);
  await first.finishAuth(name === "SDK v1" ? person.back.get("code") : person.back);
  const transport = open();
  const client = new Client({ name, version: "1.0.0" });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { url, person, client, transport };
}

test.each(Object.keys(logins))("the client of %s registers, signs in and refreshes its token", async (name) => {
  const { url, person, client } = await logIn(name);
  const { content } = await client.callTool({ name: "whoami", arguments: {} });
  expect(JSON.parse(content[0].text)).toEqual(["ada", ["read"]]);
  const before = person.tokens()?.["refresh_token"];
  expect(await logins[name]!.auth(person, { serverUrl: url })).toBe("AUTHORIZED");
  expect(person.tokens()?.["refresh_token"]).not.toBe(before);
  expect((await client.callTool({ name: "whoami", arguments: {} })).isError).not.toBe(true);
  expect(person.asked).toBe(1);
});

// SDK v1 refreshes its token instead of requesting more scopes, and fails.
test("the client of SDK v2 asks the user for an additional scope", async () => {
  const { person, client, transport } = await logIn("SDK v2");
  await expect(client.callTool({ name: "write", arguments: {} })).rejects.toThrow();
  expect(person.asked).toBe(2);
  await transport.finishAuth(person.back);
  expect((await client.callTool({ name: "write", arguments: {} })).content[0].text).toBe("written");
});
