import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { startWorld } from "../auth/client/kit/world.ts";
import { makeHome, root } from "./kit.ts";
import { broken, errorOf, put, runPortolan, showOf, startPortolan, stateOf } from "./manage-kit.ts";
import { expectValid } from "./output-schema.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const asking = join(root, "test/cli/asking-server.mjs");

test("--timeout ends a sign-in that the browser does not finish", async () => {
  const cwd = await makeHome();
  const { server } = await startWorld();
  const browser = put(cwd, "bin/xdg-open", "#!/bin/sh\n");
  chmodSync(browser, 0o755);
  const env = { PATH: [join(cwd, "bin"), process.env["PATH"]].join(delimiter) };
  const ran = await runPortolan(["login", server.url, "--timeout", "0.5"], { cwd, env });
  expect(ran.code).toBe(7);
  expect(errorOf(ran)).toMatchObject({
    kind: "timeout",
    message: expect.stringContaining("browser"),
    next: `portolan login --timeout 1 ${server.url}`,
  });
});

test("signs in with the browser, and later commands use the token", async () => {
  const cwd = await makeHome();
  const { server, authority } = await startWorld();
  await showOf(["add", "far", server.url], { cwd });
  const before = await runPortolan(["call", "far.whoami"], { cwd });
  expect([before.code, errorOf(before)]).toEqual([
    3,
    expect.objectContaining({ kind: "auth", next: "portolan login far" }),
  ]);
  // A fake browser: it follows the redirect of the authority, and then the one to the command.
  const browser = put(cwd, "bin/xdg-open", `#!/bin/sh\nexec ${process.execPath} -e 'fetch(process.argv[1])' "$1"\n`);
  chmodSync(browser, 0o755);
  const env = { PATH: [join(cwd, "bin"), process.env["PATH"]].join(delimiter) };
  const shown = await showOf(["login", "far"], { cwd, env });
  expect(shown).toMatchObject({ server: server.url, issuer: authority.issuer });
  expectValid("login", JSON.stringify(shown));
  expect(await showOf(["call", "far.whoami"], { cwd })).toMatchObject({
    content: [{ text: expect.stringContaining("ada by") }],
  });
  const kept = join(stateOf(cwd), "credentials.json");
  expect(statSync(kept).mode & 0o077).toBe(0);
  expect(await showOf(["doctor", "far"], { cwd })).toMatchObject({ findings: [] });

  expect(await showOf(["logout", "far"], { cwd })).toEqual({ server: server.url, wasSignedIn: true });
  expect(authority.revoked.length).toBeGreaterThan(0);
  expect(readFileSync(kept, "utf8")).not.toContain(authority.accessTokens[0]);
  expect((await runPortolan(["call", "far.whoami"], { cwd })).code).toBe(3);
  const again = await showOf(["logout", "far"], { cwd });
  expect(again).toEqual({ server: server.url, wasSignedIn: false });
  expectValid("logout", JSON.stringify(again));
});

test("says on a terminal that nobody was signed in, and what to do after a sign-in", async () => {
  const cwd = await makeHome();
  const { server } = await startWorld();
  const out = openTerminal(["logout", server.url], { cwd, columns: 120 });
  expect(await out.exited).toBe(0);
  expect(out.screen()).toBe(`You were not signed in at ${server.url}: nothing was changed`);
  const browser = put(cwd, "bin/xdg-open", `#!/bin/sh\nexec ${process.execPath} -e 'fetch(process.argv[1])' "$1"\n`);
  chmodSync(browser, 0o755);
  const env = { PATH: [join(cwd, "bin"), process.env["PATH"]].join(delimiter) };
  const signing = openTerminal(["login", server.url], { cwd, env, columns: 120 });
  expect(await signing.exited).toBe(0);
  expect(signing.screen()).toMatch(/✓ signed in at .*\n {2}→ portolan ls http:/);
});

test("after a sign-in that was left, login and logout lead out of a registration that the server has forgotten", async () => {
  const cwd = await makeHome();
  const { server, authority } = await startWorld();
  const browser = put(cwd, "bin/xdg-open", `#!/bin/sh\necho "$1" >> ${cwd}/pages\n`);
  chmodSync(browser, 0o755);
  const env = { PATH: [join(cwd, "bin"), process.env["PATH"]].join(delimiter) };
  const pages = () =>
    existsSync(join(cwd, "pages")) ? readFileSync(join(cwd, "pages"), "utf8").split("\n").length - 1 : 0;
  /** Leaves a sign-in at the page of the browser. */
  const leave = async () => {
    const signing = openTerminal(["login", server.url], { cwd, env, columns: 120 });
    const before = pages();
    await expect.poll(pages, { timeout: 60_000 }).toBe(before + 1);
    await signing.answer(/waiting for your sign-in/, "\u0003");
    expect(await signing.exited).toBe(130);
    return signing.screen();
  };
  expect(await leave()).not.toContain("does not know the app");
  // The authorization server is started anew, and its page refuses the old client.
  authority.clients.clear();
  const hint = await leave();
  const [, again = ""] =
    /If the page does not know the app: press Ctrl-C, then run: (portolan login \S+)/.exec(hint) ?? [];
  expect(again).toBe(`portolan login ${server.url}`);
  await leave();
  authority.clients.clear();
  const out = openTerminal(["logout", server.url], { cwd, columns: 120 });
  expect(await out.exited).toBe(0);
  expect(out.screen()).toContain("the registration of a sign-in that was not finished is forgotten");
  expect(out.screen()).toContain(`→ ${again}`);
  writeFileSync(browser, `#!/bin/sh\nexec ${process.execPath} -e 'fetch(process.argv[1])' "$1"\n`);
  const signing = openTerminal(again.split(" ").slice(1), { cwd, env, columns: 120 });
  expect(await signing.exited).toBe(0);
  expect(signing.screen()).toContain("✓ signed in at ");
  expect(authority.asked("register")).toHaveLength(3);
});

test("three pastes that are no address end the sign-in, with the command to try again", async () => {
  const cwd = await makeHome();
  const { server } = await startWorld();
  const running = await runPortolan(["login", server.url, "--no-browser"], { cwd, input: "a\nb\nc\n" });
  const error = JSON.parse(running.stderr.trim().split("\n").at(-1) ?? "").error;
  expect(error).toMatchObject({
    kind: "auth",
    message: "No valid address in 3 tries",
    next: `portolan login ${server.url} --no-browser`,
  });
});

test("a chat does not wait for a sign-in, and says how to do it", async () => {
  const cwd = await makeHome();
  const { server } = await startWorld();
  put(cwd, ".mcp.json", {
    mcpServers: { cloud: { url: server.url }, near: { command: process.execPath, args: [asking] } },
  });
  for (const name of ["cloud", "near"]) await showOf(["trust", name, "--yes"], { cwd });
  const env = { PORTOLAN_HOME: stateOf(cwd) };
  const chat = openTerminal(["chat", "--model", "demo"], { cwd, env, columns: 120 });
  await chat.answer(/with cloud \(needs sign-in\), near\n {2}→ portolan login cloud\n[\s\S]*\n>$/, "/quit\r");
  expect(await chat.exited).toBe(0);
  const asked = await runPortolan(["ls", "cloud"], { cwd });
  expect(errorOf(asked)).toMatchObject({ message: "cloud needs you to sign in", next: "portolan login cloud" });
});

test("--no-browser shows the address and accepts the pasted redirect", async () => {
  const cwd = await makeHome();
  const { server } = await startWorld();
  const running = startPortolan(["login", server.url, "--no-browser"], { cwd });
  const address = await running.until(/^https?:\/\//);
  const { headers } = await fetch(address, { redirect: "manual" });
  running.child.stdin.end(`${headers.get("location")}\n`);
  expect(await running.ended).toBe(0);
  expect(JSON.parse(running.lines[0] ?? "")).toMatchObject({ server: server.url });
  expect((await runPortolan(["call", server.url, "whoami"], { cwd })).code).toBe(0);
});

test("while a sign-in is open in a terminal, a command without one fails at once", async () => {
  const cwd = await makeHome();
  const { server } = await startWorld();
  const running = startPortolan(["login", server.url, "--no-browser"], { cwd });
  await running.until(/^https?:\/\//);
  const ran = await runPortolan(["ls", server.url], { cwd });
  expect([ran.code, errorOf(ran).next]).toEqual([3, `portolan login ${server.url}`]);
  expect(ran.stderr.trim().split("\n")).toHaveLength(1);
  expect(running.child.exitCode).toBeNull();
  running.child.stdin.end();
  await running.ended;
});

test("a second sign-in waits for the first one as long as --timeout says, and says so", async () => {
  const cwd = await makeHome();
  const { server } = await startWorld();
  const first = startPortolan(["login", server.url, "--no-browser"], { cwd });
  const address = await first.until(/^https?:\/\//);
  const second = await runPortolan(["login", server.url, "--timeout", "3", "--no-browser"], { cwd });
  const waited = `Another program is signing in at ${server.origin}`;
  expect(second.stderr).toContain(`${waited}. Waiting until it has finished`);
  expect([second.code, errorOf(second)]).toEqual([
    7,
    expect.objectContaining({ kind: "timeout", message: `${waited}, and has not finished within 3 s` }),
  ]);
  const { headers } = await fetch(address, { redirect: "manual" });
  first.child.stdin.end(`${headers.get("location")}\n`);
  expect(await first.ended).toBe(0);
});

test("--scope asks for more scopes, and keeps those that were granted before", async () => {
  const cwd = await makeHome();
  const { server, authority } = await startWorld({ protect: { scopes: ["read"] } });
  const browser = put(cwd, "bin/xdg-open", `#!/bin/sh\nexec ${process.execPath} -e 'fetch(process.argv[1])' "$1"\n`);
  chmodSync(browser, 0o755);
  const env = { PATH: [join(cwd, "bin"), process.env["PATH"]].join(delimiter) };
  await showOf(["login", server.url, "--scope", "write", "--scope", " draw  paint"], { cwd, env });
  await showOf(["login", server.url, "--scope", "sing"], { cwd, env });
  expect(authority.asked("authorize").map(({ query }) => query.get("scope"))).toEqual([
    "read write draw paint",
    "read write draw paint sing",
  ]);
});

test("doctor reports a token that is no longer accepted", async () => {
  const cwd = await makeHome();
  const { server, authority } = await startWorld();
  await showOf(["add", "far", server.url], { cwd });
  const running = startPortolan(["login", "far", "--no-browser"], { cwd });
  const { headers } = await fetch(await running.until(/^https?:\/\//), { redirect: "manual" });
  running.child.stdin.end(`${headers.get("location")}\n`);
  expect(await running.ended).toBe(0);
  authority.forget();
  authority.answer("token", { status: 400, body: { error: "invalid_grant" } });
  server.protect({ resource: `${server.resource}/other` });
  const ran = await runPortolan(["doctor", "far"], { cwd });
  expect(ran.code).toBe(1);
  expect(JSON.parse(ran.stdout).findings).toEqual([
    expect.objectContaining({ id: expect.stringMatching(/^(expired|missing)-token$/), next: "portolan login far" }),
  ]);
});

test("refuses three wrong pastes without echoing them", async () => {
  const cwd = await makeHome();
  const { server } = await startWorld();
  const ran = await runPortolan(["login", server.url, "--no-browser"], { cwd, input: "s3cret\ns3cret\ns3cret\n" });
  expect(ran.code).not.toBe(0);
  expect(errorOf(ran).message).not.toContain("s3cret");
});

describe("a client that was registered by hand", () => {
  /** A browser that follows the redirect of the authority, and then the one to the command. */
  function withBrowser(cwd: string) {
    const browser = put(cwd, "bin/xdg-open", `#!/bin/sh\nexec ${process.execPath} -e 'fetch(process.argv[1])' "$1"\n`);
    chmodSync(browser, 0o755);
    return { PATH: [join(cwd, "bin"), process.env["PATH"]].join(delimiter) };
  }

  async function withoutRegistration() {
    const cwd = await makeHome();
    const { server, authority } = await startWorld();
    delete authority.metadata["registration_endpoint"];
    authority.clients.set("mine", { redirectUris: [], secret: "hush" });
    return { cwd, server, authority, env: withBrowser(cwd) };
  }

  test("is used with --client-id and the secret on standard input, and by later logins", async () => {
    const { cwd, server, authority, env } = await withoutRegistration();
    const missing = await runPortolan(["login", server.url], { cwd, env });
    expect([missing.code, errorOf(missing).message, errorOf(missing).next]).toEqual([
      3,
      expect.stringContaining(`${authority.issuer} offers no client registration`),
      expect.stringMatching(new RegExp(`run in a terminal, which asks for its id: portolan login ${server.url}$`)),
    ]);
    const flags = ["--client-id", "mine", "--client-secret-stdin"];
    const first = await runPortolan(["login", server.url, ...flags], { cwd, env, input: "hush\n" });
    expect([first.code, first.stderr]).toEqual([0, ""]);
    expect((await runPortolan(["call", server.url, "whoami"], { cwd })).stdout).toContain("ada by mine");
    await runPortolan(["logout", server.url], { cwd });
    // The client is stored with its secret for its authorization server, and comes back to the same address.
    expect((await runPortolan(["login", server.url], { cwd, env })).code).toBe(0);
    const pages = authority.asked("authorize").map(({ query }) => query);
    expect(pages.map((query) => query.get("client_id"))).toEqual(["mine", "mine"]);
    const [path, again] = pages.map((query) => new URL(query.get("redirect_uri") ?? "").pathname);
    expect([path, again]).toEqual(["/callback", "/callback"]);
    for (const { headers } of authority.asked("token"))
      expect(headers.authorization).toBe(`Basic ${btoa("mine:hush")}`);
  });

  test("is asked for on a terminal, and the secret is not shown", async () => {
    const { cwd, server, authority, env } = await withoutRegistration();
    const terminal = openTerminal(["login", server.url], { cwd, env: { ...env, PORTOLAN_HOME: stateOf(cwd) } });
    await terminal.answer(/redirect address[\s\S]*client id >/, "mine\r");
    await terminal.answer("client secret", "hush\r");
    await terminal.see("signed in at");
    expect(await terminal.exited).toBe(0);
    expect(terminal.written()).not.toContain("hush");
    const [shown] = /http:\/\/127\.0\.0\.1:\d+\/callback\/[\w-]+/.exec(terminal.screen()) ?? [];
    expect(authority.asked("authorize")[0]?.query.get("redirect_uri")).toBe(shown);
    expect((await runPortolan(["call", server.url, "whoami"], { cwd })).stdout).toContain("ada by mine");
  });

  test("needs an id for its secret, and a secret that was announced", async () => {
    const { cwd, server } = await withoutRegistration();
    const noId = await runPortolan(["login", server.url, "--client-secret-stdin"], { cwd, input: "hush\n" });
    expect([noId.code, errorOf(noId).message]).toEqual([2, "--client-secret-stdin needs --client-id"]);
    const args = ["login", server.url, "--client-id", "mine", "--client-secret-stdin"];
    const noSecret = await runPortolan(args, { cwd, input: "" });
    expect([noSecret.code, errorOf(noSecret).message]).toEqual([2, expect.stringContaining("got nothing")]);
  });

  test("does not compete with the one of the configuration file", async () => {
    const { cwd, server } = await withoutRegistration();
    put(cwd, ".mcp.json", { mcpServers: { far: { type: "http", url: server.url, oauth: { clientId: "filed" } } } });
    await runPortolan(["trust", "far", "--yes"], { cwd });
    const ran = await runPortolan(["login", "far", "--client-id", "mine"], { cwd });
    expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining("far has a client id")]);
  });
});

test("listing servers does not open a browser", async () => {
  const cwd = await makeHome();
  const { server } = await startWorld();
  await showOf(["add", "far", server.url], { cwd });
  const opened = join(cwd, "opened");
  chmodSync(put(cwd, "bin/xdg-open", `#!/bin/sh\ntouch ${opened}\n`), 0o755);
  const env = { PATH: [join(cwd, "bin"), process.env["PATH"]].join(delimiter), PORTOLAN_HOME: stateOf(cwd) };
  for (const command of ["servers", "doctor"]) {
    const terminal = openTerminal([command], { cwd, env, columns: 120 });
    await terminal.exited;
    expect(terminal.screen()).toContain("portolan login far");
  }
  expect(existsSync(opened)).toBe(false);
});

test("does not open the address of an untrusted server", async () => {
  const cwd = await makeHome();
  const { server, authority } = await startWorld();
  put(cwd, ".mcp.json", { mcpServers: { far: { type: "http", url: server.url } } });
  const ran = await runPortolan(["login", "far", "--no-browser"], { cwd });
  expect([ran.code, errorOf(ran).next]).toEqual([6, "portolan trust far"]);
  expect([server.site.asked, authority.site.asked]).toEqual([[], []]);
});

test("refuses to sign in at a command or an unknown server", async () => {
  const cwd = await makeHome();
  await showOf(["add", "near", "--", process.execPath, broken], { cwd });
  for (const command of ["login", "logout"]) {
    const ran = await runPortolan([command, "near"], { cwd });
    expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining("started by a command")]);
    expect((await runPortolan([command, "nobody"], { cwd })).code).toBe(2);
  }
});
