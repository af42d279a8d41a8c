import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStorage, randomSecret } from "portolan/storage";
import { expect, onTestFinished, test } from "vitest";
import { App, calledBack, serve } from "../authority/kit.ts";
import { UpstreamProvider } from "../authority/upstream-provider.ts";
import { send } from "../http/kit.ts";
import { toHeaders, toMeta } from "../http/peer.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("authority");

async function call(origin: string, name: string, token: string): Promise<string> {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {}, _meta: toMeta() } };
  const headers = { ...toHeaders("tools/call", name), authorization: `Bearer ${token}` };
  return (await (await send(`${origin}/mcp`, { headers, body })).json()).result.content[0].text;
}

test("signs in users of a file, and gives the server their subject", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-guide-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const users = join(folder, "users.json");
  await guide.writeUsers(users);
  expect(await readFile(users, "utf8")).not.toContain("analytical engine");
  const origin = await serve((origin) => guide.withUsers(origin, users));
  const document = await (await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`)).json();
  expect(document).toMatchObject({ resource: `${origin}/mcp`, authorization_servers: [origin] });
  const app = await App.register(origin);
  const page = await app.browser.open(app.authorizeUrl({ resource: `${origin}/mcp`, scope: "name:read" }));
  const consent = await app.browser.press(page, "sign-in", { name: "ada", password: "analytical engine" });
  const code = calledBack(await app.browser.press(consent, "allow")).get("code") ?? "";
  expect(await call(origin, "whoami", (await app.redeem(code)).body["access_token"])).toBe("ada");
});

test("signs in users with another provider, and lets the server call it on their behalf", async () => {
  let remote: UpstreamProvider | undefined;
  const origin = await serve(async (origin) => {
    remote = await UpstreamProvider.start({ redirectUri: `${origin}/callback` });
    return guide.withProvider(origin, {
      issuer: remote.issuer,
      clientId: "authority",
      clientSecret: "between-the-two",
    });
  });
  const app = await App.register(origin);
  const consent = await app.browser.open(app.authorizeUrl({ resource: `${origin}/mcp`, scope: "mail:read" }));
  const code = calledBack(await app.browser.press(consent, "allow")).get("code") ?? "";
  const profile = await call(origin, "me", (await app.redeem(code)).body["access_token"]);
  expect(JSON.parse(profile)).toEqual({ sub: "zoe" });
});

test("publishes the same keys in every process with the same storage and secrets", async () => {
  const [storage, secrets] = [createMemoryStorage(), [randomSecret()]];
  const keys = await Promise.all(
    [1, 2].map(async () => {
      const { handle } = await guide.inEveryProcess("https://auth.example", storage, secrets);
      const origin = await serve(async () => handle);
      return (await fetch(`${origin}/jwks`)).json();
    }),
  );
  expect(keys[0]).toEqual(keys[1]);
});
