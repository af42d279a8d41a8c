// The fake of Slack, proved by Slack's own client.
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Data, startSeeded } from "../../servers/slack/kit.ts";

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
