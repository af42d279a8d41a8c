// The fake of Slack, proved by Slack's own client.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Data, startSeeded } from "../../servers/slack/kit.ts";
import { startFakeSlack } from "./fake.ts";

const vendors = createRequire(join(import.meta.dirname, "../vendors/package.json"));
const { WebClient, LogLevel } = vendors("@slack/web-api");

function clientOf(api: string, token: string): Data {
  return new WebClient(token, { slackApiUrl: `${api}/`, retryConfig: { retries: 0 }, logLevel: LogLevel.ERROR });
}

test("Slack's own client reads and changes the fake", async () => {
  const { fake, token, general, ts } = await startSeeded();
  const client = clientOf(fake.api, token);
  expect(await client.auth.test()).toMatchObject({ ok: true, user: "ada" });
  const { channels } = await client.conversations.list();
  expect(channels).toMatchObject([{ id: general.id, name: "general", is_member: true }]);
  const posted = await client.chat.postMessage({ channel: general.id, markdown_text: "**Hi**", thread_ts: ts });
  expect(posted).toMatchObject({ ok: true, channel: general.id, message: { text: "**Hi**", thread_ts: ts } });
  await client.reactions.add({ channel: general.id, timestamp: ts, name: "eyes" });
  const { items } = await client.reactions.list();
  expect(items).toMatchObject([{ channel: general.id, message: { ts, reactions: [{ name: "eyes", count: 1 }] } }]);
  const { messages } = await client.search.messages({ query: "release" });
  expect(messages).toMatchObject({ total: 1, matches: [{ ts }] });
});

test("Slack's own client walks through all pages of the fake", async () => {
  const { fake, token, general } = await startSeeded();
  for (let number = 0; number < 8; number += 1) fake.say(general, "bob", `Message ${number}`);
  const texts: string[] = [];
  const pages = clientOf(fake.api, token).paginate("conversations.history", { channel: general.id, limit: 3 });
  for await (const { messages } of pages) texts.push(...messages.map(({ text }: Data) => text));
  expect(texts).toHaveLength(10);
  expect(texts[0]).toBe("Message 7");
});

test("Slack's own client understands the errors of the fake", async () => {
  const { fake, general, ts } = await startSeeded();
  const failing = (promise: Promise<unknown>) => promise.catch(({ data }: Data) => data);
  expect(await failing(clientOf(fake.api, "xoxp-wrong").auth.test())).toMatchObject({ error: "invalid_auth" });
  const poor = clientOf(fake.api, fake.token("ada", ["reactions:write"]));
  expect(await failing(poor.users.list())).toMatchObject({ error: "missing_scope", needed: "users:read" });
  await poor.reactions.add({ channel: general.id, timestamp: ts, name: "eyes" });
  const again = poor.reactions.add({ channel: general.id, timestamp: ts, name: "eyes" });
  expect(await failing(again)).toMatchObject({ error: "already_reacted" });
});

test("Slack's own client uploads to the fake, and lists what is there", async () => {
  const { fake, token, general } = await startSeeded();
  const client = clientOf(fake.api, token);
  const uploaded = await client.files.uploadV2({
    channel_id: general.id,
    filename: "notes.md",
    file: Buffer.from("# Notes"),
    initial_comment: "Read this",
  });
  expect(uploaded).toMatchObject({ ok: true });
  const { files, paging } = await client.files.list({ channel: general.id });
  expect(files).toMatchObject([{ name: "notes.md", size: 7, mimetype: "text/markdown" }, { name: "plan.md" }]);
  expect(paging).toMatchObject({ page: 1, pages: 1, total: 2 });
  expect(await client.files.info({ file: files[0].id })).toMatchObject({ file: { name: "notes.md" } });
  const content = await fetch(files[0].url_private_download, { headers: { authorization: `Bearer ${token}` } });
  expect(await content.text()).toBe("# Notes");
  expect(await (await fetch(files[0].url_private_download)).text()).toContain("Sign in to Slack");
});

test("Slack's own client exchanges a code of the fake once, and renews the token", async () => {
  const fake = await startFakeSlack();
  fake.rotatesTokens = true;
  fake.browserUser = "ada";
  const query = new URLSearchParams({
    ...{ client_id: fake.clientId, user_scope: "users:read", state: "s", redirect_uri: "http://127.0.0.1:9/back" },
    ...{ code_challenge: createHash("sha256").update("verifier").digest("base64url"), code_challenge_method: "S256" },
  });
  const page = await fetch(`${fake.origin}/oauth/v2/authorize?${query}`, { redirect: "manual" });
  const code = new URL(page.headers.get("location") ?? "").searchParams.get("code");
  const client = clientOf(fake.api, "");
  const { clientId: client_id, clientSecret: client_secret } = fake;
  const credentials = { client_id, client_secret };
  const exchange = { ...credentials, code, redirect_uri: "http://127.0.0.1:9/back", code_verifier: "verifier" };
  const { authed_user } = await client.oauth.v2.access(exchange);
  expect(authed_user).toMatchObject({ token_type: "user", scope: "users:read", expires_in: 43_200 });
  expect(await clientOf(fake.api, authed_user.access_token).users.list()).toMatchObject({ members: [{ name: "ada" }] });
  await expect(client.oauth.v2.access(exchange)).rejects.toThrow("invalid_code");
  const renewal = { ...credentials, grant_type: "refresh_token", refresh_token: authed_user.refresh_token };
  expect(await client.oauth.v2.access(renewal)).toMatchObject({ token_type: "user", scope: "users:read" });
  await expect(client.oauth.v2.access(renewal)).rejects.toThrow("invalid_refresh_token");
});
