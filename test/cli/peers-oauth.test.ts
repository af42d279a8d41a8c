// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are placeholders of configuration files
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { createServer as createSite } from "node:net";
import { delimiter, join } from "node:path";
import { protect } from "portolan/auth/server";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { type AuthorityEvent, type AuthorityOptions, createAuthority } from "portolan-authority";
import { expect, onTestFinished, test, vi } from "vitest";
import { Browser } from "../authority/browser.ts";
import { people, serve } from "../authority/kit.ts";
import { makeHome } from "./kit.ts";
import { errorOf, put, runPortolan, showOf, startPortolan, stateOf } from "./manage-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

/** Starts a server behind our authority, where people sign in with a password. */
async function startNotes(options: Partial<AuthorityOptions> = {}) {
  const events: AuthorityEvent["type"][] = [];
  const server = createServer({ name: "notes", version: "1.0.0" }).tool("whoami", {
    run: (_, { principal }) => `${principal.subject} by ${principal.clientId}`,
  });
  const origin = await serve(async (origin) => {
    const resource = `${origin}/mcp`;
    const authority = await createAuthority({
      issuer: origin,
      name: "Acme",
      resources: [{ resource, name: "Notes", scopes: { "notes:read": "Read your notes" } }],
      registration: { dynamic: true },
      onEvent: ({ type }) => events.push(type),
      onError: () => {},
      signIn: people(),
      ...options,
    });
    const auth = protect({ resource, issuers: [authority.protection], onError: () => {} });
    const serving = serveHttp(server, { auth });
    onTestFinished(() => serving.close(0));
    return (request, response) => authority.handle(request, response, () => serving.node(request, response));
  });
  return { url: `${origin}/mcp`, events };
}

/** Signs in as Ada and consents. Returns the redirect. */
async function approve(address: string): Promise<string> {
  const back = new URL(new URL(address).searchParams.get("redirect_uri") ?? "");
  const browser = new Browser(({ host, pathname }) => host === back.host && pathname === back.pathname);
  const page = await browser.open(address);
  const consent = await browser.press(page, "sign-in", { name: "ada", password: "correct horse" });
  return (await browser.press(consent, "allow")).url;
}

/** A fake browser that records its address, where Ada signs in. */
function findBrowser(cwd: string) {
  const opened = join(cwd, "opened");
  chmodSync(
    put(cwd, "bin/xdg-open", `#!/bin/sh\nprintf '%s' "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`),
    0o755,
  );
  return {
    env: { PATH: [join(cwd, "bin"), process.env["PATH"]].join(delimiter) },
    async visit(): Promise<URL> {
      await vi.waitUntil(() => existsSync(opened), { timeout: 20_000 });
      const address = readFileSync(opened, "utf8");
      const { status } = await fetch(await approve(address));
      expect(status).toBe(200);
      return new URL(address);
    },
  };
}

async function findPort(): Promise<number> {
  const site = createSite().listen(0, "127.0.0.1");
  await new Promise((resolve) => site.once("listening", resolve));
  const { port } = site.address() as { port: number };
  await new Promise((resolve) => site.close(resolve));
  return port;
}

const whoami = ({ content }: { content?: unknown }) => (content as { text: string }[])[0]?.text;

test("an entry of VS Code is trusted, signed in, renewed and signed out", async () => {
  const cwd = makeHome();
  const { url, events } = await startNotes({ accessTokenSeconds: 1 });
  put(
    cwd,
    ".vscode/mcp.json",
    `{\n  // the notes of the team\n  "servers": { "notes": { "type": "http", "url": "${url}" }, },\n}\n`,
  );
  const stateOfNotes = async () => (await showOf<{ servers: unknown[] }>([], { cwd })).servers[0];
  expect(await stateOfNotes()).toMatchObject({ name: "notes", state: "untrusted", next: "portolan trust notes" });
  await showOf(["trust", "notes", "--yes"], { cwd });
  expect(await stateOfNotes()).toMatchObject({ state: "login", next: "portolan login notes" });
  const before = await runPortolan(["call", "notes.whoami"], { cwd });
  expect([before.code, errorOf(before)]).toMatchObject([3, { kind: "auth", next: "portolan login notes" }]);
  const ill = await runPortolan(["doctor", "notes"], { cwd });
  expect(JSON.parse(ill.stdout).findings).toMatchObject([{ id: "missing-token", next: "portolan login notes" }]);

  const running = startPortolan(["login", "notes", "--no-browser"], { cwd });
  running.child.stdin.end(`${await approve(await running.until(/^https?:\/\//))}\n`);
  expect(await running.ended).toBe(0);
  expect(await stateOfNotes()).toMatchObject({ state: "ready", tools: 1 });
  // The token is valid for a second, so a later call renews it, and none fails.
  for (let calls = 0; calls < 20 && !events.includes("token-refreshed"); calls += 1) {
    expect(whoami(await showOf(["call", "notes.whoami"], { cwd }))).toMatch(/^ada by /);
  }
  expect(events).toContain("token-refreshed");
  expect(await showOf(["doctor", "notes"], { cwd })).toMatchObject({ findings: [] });

  expect(await showOf(["logout", "notes"], { cwd })).toEqual({ server: url, wasSignedIn: true });
  expect(readFileSync(join(stateOf(cwd), "credentials.json"), "utf8")).not.toMatch(/eyJ/);
  expect((await runPortolan(["call", "notes.whoami"], { cwd })).code).toBe(3);
});

test("uses a client registered for Claude Code with its registered port", async () => {
  const cwd = makeHome();
  const port = await findPort();
  const place = `http://localhost:${port}/callback`;
  const { url, events } = await startNotes({
    clients: [{ clientId: "editor", redirectUris: [place] }],
    registration: { dynamic: false, metadataDocuments: false },
  });
  const oauth = { clientId: "editor", callbackPort: port };
  put(cwd, ".mcp.json", { mcpServers: { notes: { type: "http", url, oauth } } });
  await showOf(["trust", "notes", "--yes"], { cwd });
  const browser = findBrowser(cwd);
  const login = showOf(["login", "notes"], { cwd, env: browser.env });
  const { searchParams } = await browser.visit();
  expect([searchParams.get("client_id"), searchParams.get("redirect_uri")]).toEqual(["editor", place]);
  expect(await login).toMatchObject({ server: url, scopes: ["notes:read"] });
  expect(whoami(await showOf(["call", "notes.whoami"], { cwd }))).toBe("ada by editor");
  // Other commands use the same client.
  expect(whoami(await showOf(["call", "notes.whoami", "--record", "talk.jsonl"], { cwd }))).toBe("ada by editor");
  expect(whoami(await showOf(["call", "talk.jsonl", "whoami"], { cwd }))).toBe("ada by editor");
  expect(events).not.toContain("client-registered");
});

test("uses the registered redirect for pasting and for calls on a terminal", async () => {
  const cwd = makeHome();
  const port = await findPort();
  const place = `http://localhost:${port}/callback`;
  const { url } = await startNotes({
    clients: [{ clientId: "editor", redirectUris: [place] }],
    registration: { dynamic: false, metadataDocuments: false },
  });
  const oauth = { clientId: "editor", callbackPort: port };
  put(cwd, ".mcp.json", { mcpServers: { notes: { type: "http", url, oauth } } });
  await showOf(["trust", "notes", "--yes"], { cwd });
  const running = startPortolan(["login", "notes", "--no-browser"], { cwd });
  const address = await running.until(/^https?:\/\//);
  expect(new URL(address).searchParams.get("redirect_uri")).toBe(place);
  running.child.stdin.end(`${await approve(address)}\n`);
  expect(await running.ended).toBe(0);
  await showOf(["logout", "notes"], { cwd });

  const browser = findBrowser(cwd);
  const env = { ...browser.env, PORTOLAN_HOME: stateOf(cwd) };
  const terminal = openTerminal(["call", "notes.whoami"], { cwd, env });
  expect((await browser.visit()).searchParams.get("redirect_uri")).toBe(place);
  await terminal.see("ada by editor");
  expect(await terminal.exited).toBe(0);
});

test("accepts any port for a client with a secret from the environment, as in Cursor's files", async () => {
  const cwd = makeHome();
  const { url } = await startNotes({
    clients: [{ clientId: "editor", clientSecret: "s3cret-of-cursor", redirectUris: ["http://localhost/callback"] }],
    registration: { dynamic: false, metadataDocuments: false },
  });
  const auth = { CLIENT_ID: "editor", CLIENT_SECRET: "${env:NOTES_SECRET}", scopes: ["notes:read"] };
  put(cwd, ".cursor/mcp.json", { mcpServers: { notes: { url, auth } } });
  const browser = findBrowser(cwd);
  const env = { ...browser.env, NOTES_SECRET: "s3cret-of-cursor" };
  await showOf(["trust", "notes", "--yes"], { cwd, env });
  const login = showOf(["login", "notes"], { cwd, env });
  const { searchParams } = await browser.visit();
  expect(searchParams.get("redirect_uri")).toMatch(/^http:\/\/localhost:\d+\/callback$/);
  await login;
  expect(whoami(await showOf(["call", "notes.whoami"], { cwd, env }))).toBe("ada by editor");
  expect(readFileSync(join(stateOf(cwd), "credentials.json"), "utf8")).not.toContain("s3cret-of-cursor");
  const without = await runPortolan(["call", "notes.whoami"], { cwd });
  expect([without.code, errorOf(without).message]).toEqual([2, expect.stringContaining("NOTES_SECRET")]);
});

test("reports a redirect port in use and opens no browser", async () => {
  const cwd = makeHome();
  const site = createSite().listen(0, "127.0.0.1");
  await new Promise((resolve) => site.once("listening", resolve));
  onTestFinished(() => void site.close());
  const { port } = site.address() as { port: number };
  const { url } = await startNotes();
  put(cwd, ".mcp.json", { mcpServers: { notes: { type: "http", url, oauth: { callbackPort: port } } } });
  await showOf(["trust", "notes", "--yes"], { cwd });
  const browser = findBrowser(cwd);
  const ran = await runPortolan(["login", "notes"], { cwd, env: browser.env });
  expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining(`port ${port}`)]);
  expect(existsSync(join(cwd, "opened"))).toBe(false);
});
