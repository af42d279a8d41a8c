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

/** A server of ours behind an authority of ours. */
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

/** Somebody at a browser, as the SDK asks for: Ada, who allows everything. */
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
  readonly #kept = new Map<string, unknown>();
  back = new URLSearchParams();
  asked = 0;

  clientInformation = () => this.#kept.get("client");
  saveClientInformation = (client: unknown) => void this.#kept.set("client", client);
  tokens = () => this.#kept.get("tokens") as Json | undefined;
  saveTokens = (tokens: unknown) => void this.#kept.set("tokens", tokens);
  codeVerifier = () => this.#kept.get("verifier");
  saveCodeVerifier = (verifier: string) => void this.#kept.set("verifier", verifier);
  discoveryState = () => this.#kept.get("discovery");
  saveDiscoveryState = (state: unknown) => void this.#kept.set("discovery", state);

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

/** A client that somebody has logged in with. */
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

test.each(Object.keys(logins))("the client of %s registers, logs in and refreshes", async (name) => {
  const { url, person, client } = await logIn(name);
  const { content } = await client.callTool({ name: "whoami", arguments: {} });
  expect(JSON.parse(content[0].text)).toEqual(["ada", ["read"]]);
  const before = person.tokens()?.["refresh_token"];
  expect(await logins[name]!.auth(person, { serverUrl: url })).toBe("AUTHORIZED");
  expect(person.tokens()?.["refresh_token"]).not.toBe(before);
  expect((await client.callTool({ name: "whoami", arguments: {} })).isError).not.toBe(true);
  expect(person.asked).toBe(1);
});

// SDK v1 refreshes instead of asking for more, and gives up.
test("the client of SDK v2 lets the person be asked for more", async () => {
  const { person, client, transport } = await logIn("SDK v2");
  await expect(client.callTool({ name: "write", arguments: {} })).rejects.toThrow();
  expect(person.asked).toBe(2);
  await transport.finishAuth(person.back);
  expect((await client.callTool({ name: "write", arguments: {} })).content[0].text).toBe("written");
});
