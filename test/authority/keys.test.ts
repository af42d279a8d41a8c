import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { protect } from "portolan/auth/server";
import { connect } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage, randomSecret } from "portolan/storage";
import { authorityKeys } from "portolan-authority";
import { describe, expect, onTestFinished, test } from "vitest";
import { App, people, resource, start } from "./kit.ts";

const root = join(import.meta.dirname, "../..");
const command = join(root, "packages/authority/dist/main.js");

async function publishedBy(address: string): Promise<string[]> {
  const { keys } = (await (await fetch(`${address}/jwks`)).json()) as { keys: { kid: string; d?: string }[] };
  for (const key of keys) expect(key).not.toHaveProperty("d");
  return keys.map(({ kid }) => kid);
}

const signerOf = (token: string) => decodeProtectedHeader(token).kid;

describe("signing keys", () => {
  test("rotate without refusing a token: running processes publish the new key, and sign with it after a start", async () => {
    const [storage, secrets, signIn] = [createMemoryStorage(), [randomSecret()], people()];
    const before = await start({ storage, secrets, signIn });
    const { issuer } = before;
    const keys = await authorityKeys({ issuer, storage, secrets });
    const [first] = await keys.list();
    const app = await App.register(issuer);
    const { body: old } = await app.loginForTokens();
    expect(signerOf(old["access_token"])).toBe(first?.id);

    const added = await keys.rotate();
    expect((await keys.list()).map(({ id, isNewest }) => [id, isNewest])).toEqual([
      [added.id, true],
      [first?.id, false],
    ]);
    // The running process knows its own key only, but publishes what is stored.
    expect(await publishedBy(issuer)).toEqual([added.id, first?.id]);
    const { body: still } = await app.refresh(old["refresh_token"]);
    expect(signerOf(still["access_token"])).toBe(first?.id);

    const after = await start({ issuer, storage, secrets, signIn });
    const { body: renewed } = await app.refresh(still["refresh_token"], {}, after.address);
    expect(signerOf(renewed["access_token"])).toBe(added.id);
    // A server that asks either process for the keys accepts the tokens of both.
    for (const address of [issuer, after.address]) {
      const auth = protect({ resource, issuers: [{ issuer, jwksUri: `${address}/jwks`, algorithms: ["ES256"] }] });
      const serving = serveHttp(createServer({ name: "notes", version: "1" }).tool("x", { run: () => "y" }), { auth });
      onTestFinished(() => serving.close(0));
      const { url } = await serving.listen(0);
      for (const token of [old["access_token"], renewed["access_token"]]) {
        const client = await connect(url, { auth: { authorize: () => ({ authorization: `Bearer ${token}` }) } });
        await client.close();
      }
    }

    await keys.remove(first?.id ?? "");
    expect(await publishedBy(after.address)).toEqual([added.id]);
    await expect(keys.remove(added.id)).rejects.toThrow("is the newest key");
    await expect(keys.remove("nothing")).rejects.toThrow("there is no key nothing");
  });

  test("are changed by several processes at once, and only with the right secret", async () => {
    const [storage, secrets] = [createMemoryStorage(), [randomSecret()]];
    const { issuer } = await start({ storage, secrets });
    const keys = await authorityKeys({ issuer, storage, secrets });
    await Promise.all([keys.rotate(), keys.rotate(), keys.rotate()]);
    expect(await keys.list()).toHaveLength(4);
    const wrong = await authorityKeys({ issuer, storage, secrets: [randomSecret()] });
    await expect(wrong.rotate()).rejects.toThrow("secrets: none opens");
    expect(await keys.list()).toHaveLength(4);
  });
});

describe("portolan-authority", () => {
  /** A file whose storage is one JSON file, so that it outlives a process. */
  function makeFile(): string {
    const folder = mkdtempSync(join(tmpdir(), "portolan-authority-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "authority.mjs");
    writeFileSync(
      file,
      `import { existsSync, readFileSync, writeFileSync } from "node:fs";
const path = new URL("rows.json", import.meta.url);
const read = () => (existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {});
const kv = {
  get: async (key) => read()[key],
  async set(key, value, { expect } = {}) {
    const rows = read();
    if (expect !== undefined && (rows[key] ?? null) !== expect) return false;
    writeFileSync(path, JSON.stringify({ ...rows, [key]: value }));
    return true;
  },
};
export default async () => ({ issuer: "https://auth.example.com", storage: { kv }, secrets: ["${"s".repeat(40)}"] });
`,
    );
    return file;
  }

  function run(...args: readonly string[]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], { encoding: "utf8" });
    return { status, stdout, stderr };
  }

  const idsIn = (text: string) => text.split("\n").flatMap((line) => line.split("  ")[0] || []);

  test("lists, adds and removes keys of the storage that a file names", () => {
    const file = makeFile();
    const first = run("keys", file);
    expect(first).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[\w-]{16} {2}\d{4}-.* {2}signs\n$/) });
    expect(run("keys", "rotate", file)).toMatchObject({ status: 0, stdout: expect.stringContaining("Restart") });
    const [newest, old] = idsIn(run("keys", file).stdout);
    expect(old).toBe(idsIn(first.stdout)[0]);
    expect(run("keys", "remove", newest ?? "", file)).toMatchObject({ status: 1 });
    expect(run("keys", "remove", old ?? "", file)).toMatchObject({ status: 0, stderr: "" });
    expect(idsIn(run("keys", file).stdout)).toEqual([newest]);
  });

  test("explains wrong usage", () => {
    expect(run()).toMatchObject({ status: 2, stderr: expect.stringContaining("Usage:") });
    expect(run("keys")).toMatchObject({ status: 2, stderr: expect.stringContaining("expected a file") });
    expect(run("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("keys rotate <file>") });
    const other = join(root, "packages/authority/dist/index.js");
    expect(run("keys", other)).toMatchObject({ status: 2, stderr: expect.stringContaining("as the default export") });
  });
});

test("an authority writes nothing about the runtime, and other warnings still appear", () => {
  const program = `
import { createAuthority, developmentUser } from "portolan-authority";
const resources = [{ resource: "http://127.0.0.1:1/mcp", scopes: { a: "A" } }];
const creating = createAuthority({ issuer: "http://127.0.0.1:1", name: "x", resources, signIn: developmentUser("ada") });
console.warn("a warning of the program");
await creating;
console.warn("another one");
`;
  const { stderr, stdout, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: root,
    encoding: "utf8",
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: "",
    stderr: "a warning of the program\nanother one\n",
  });
});
