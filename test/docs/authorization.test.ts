import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportPKCS8, generateKeyPair } from "jose";
import { protect } from "portolan/auth/server";
import { connect } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { TestAuthority } from "../auth/client/kit/authority.ts";
import { comeBack } from "../auth/client/kit/person.ts";
import { Site } from "../auth/client/kit/site.ts";
import { makeFolder, pathTo } from "../examples/example.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("authorization");
const { PATH = "" } = process.env;
const someNotes = [{ type: "text", text: "no notes" }];

afterEach(() => {
  process.env["PATH"] = PATH;
});

/** Starts a protected notes server and the authority that issues its tokens. */
async function startNotes() {
  const authority = await TestAuthority.start();
  const site = await Site.start(false);
  const url = `${site.origin}/mcp`;
  const notes = createServer({ name: "notes", version: "1.0.0" }).tool("list", { run: () => "no notes" });
  const serving = serveHttp(notes, { auth: protect({ resource: url, issuers: [authority.issuer] }) });
  onTestFinished(() => serving.close(0));
  site.serve = (_, request, response) => serving.node(request, response);
  return { authority, url };
}

async function listWith(url: string, auth: NonNullable<Parameters<typeof connect>[1]>["auth"]) {
  const client = await connect(url, auth && { auth });
  onTestFinished(() => client.close());
  return (await client.callTool("list")).content;
}

test("signs in with the browser once, and stores the tokens in a file that only the owner can read", async () => {
  const { authority, url } = await startNotes();
  const folder = await makeFolder();
  const browser = join(folder, "xdg-open");
  writeFileSync(browser, `#!/bin/sh\nexec "${process.execPath}" -e 'fetch(process.argv[1])' "$1"\n`);
  chmodSync(browser, 0o755);
  process.env["PATH"] = `${folder}:${PATH}`;
  const file = join(folder, "credentials.json");
  expect(await guide.useNotes(url, file)).toEqual(someNotes);
  expect(await guide.useNotes(url, file)).toEqual(someNotes);
  expect(authority.asked("authorize")).toHaveLength(1);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("shows the sign-in address without a browser, and reads the pasted redirect address", async () => {
  const { url } = await startNotes();
  const program = `import { connect } from "portolan/client";
    import { withoutBrowser } from "${pathTo("examples/guide/authorization.mjs")}";
    const client = await connect("${url}", { auth: withoutBrowser });
    console.log(JSON.stringify((await client.callTool("list")).content));
    await client.close();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: pathTo("") });
  onTestFinished(() => void child.kill());
  let [stderr, stdout] = ["", ""];
  child.stdout.on("data", (text) => {
    stdout += text;
  });
  const page = await new Promise<string>((resolve) => {
    child.stderr.on("data", (text) => {
      stderr += text;
      const address = /(http:\/\/\S+\/authorize\?\S+)\s/.exec(stderr)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
  child.stdin.write(`${(await comeBack(new URL(page))).href}\n`);
  expect(await once(child, "close")).toEqual([0, null]);
  expect(JSON.parse(stdout)).toEqual(someNotes);
});

test("does not send a registered client's credentials to another issuer", async () => {
  const { authority, url } = await startNotes();
  await expect(connect(url, { auth: guide.known("s3cret") })).rejects.toThrow("https://login.example.com");
  expect(authority.asked("token")).toEqual([]);
});

test("lets a web back end redirect each user to sign in, and finish the sign-in on the callback", async () => {
  const { url } = await startNotes();
  const storage = createMemoryStorage();
  const pages: string[] = [];
  const list = (user: string) => guide.listFor(url, guide.forUser(storage, user), (page: string) => pages.push(page));
  expect(await list("ada")).toBeUndefined();
  const back = await comeBack(new URL(pages[0] ?? ""));
  expect(back.origin).toBe("https://app.example.com");
  await guide.finishSignIn(guide.forUser(storage, "ada"), back.href);
  expect(await list("ada")).toMatchObject({ content: someNotes });
  expect(await list("bob")).toBeUndefined();
});

test("gets tokens for a program with its own key, and with a token of its platform", async () => {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const keyed = await startNotes();
  keyed.authority.clients.set("nightly-job", { redirectUris: [], publicKey });
  expect(await listWith(keyed.url, guide.asItself(await exportPKCS8(privateKey)))).toEqual(someNotes);

  const federated = await startNotes();
  federated.authority.clients.set("nightly-job", { redirectUris: [], method: "none" });
  expect(
    await listWith(
      federated.url,
      guide.asWorkload(async () => "of the platform"),
    ),
  ).toEqual(someNotes);
  const [assertion] = federated.authority.grants("urn:ietf:params:oauth:grant-type:jwt-bearer");
  expect(assertion?.get("assertion")).toBe("of the platform");
});

test("exchanges an ID token of the company's sign-in for access to the server", async () => {
  const { authority, url } = await startNotes();
  authority.clients.set("notes-app", { redirectUris: [], method: "none" });
  const sso = await TestAuthority.start();
  sso.clients.set("desktop", { redirectUris: [], method: "none" });
  expect(
    await listWith(
      url,
      guide.asEmployee(sso.issuer, async () => "who I am"),
    ),
  ).toEqual(someNotes);
  const [exchange] = sso.grants("urn:ietf:params:oauth:grant-type:token-exchange");
  expect(exchange?.get("subject_token")).toBe("who I am");
});
