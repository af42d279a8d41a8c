import { scriptedAnswers, type TestClient } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import type { SlackFault } from "../../services/slack/fake.ts";
import { call, expectDescribed, failureOf } from "../kit/tools.ts";
import { type Data, open, type Seeded, startSeeded } from "./kit.ts";

const yes = { action: "accept", content: {} } as never;
const no = { action: "decline" } as never;

/** A call of each reading tool, and a part of its result. */
const readings = ({ general: { id: channel }, ts }: Seeded): readonly [string, object, object][] => [
  ["list_channels", {}, { items: [{ id: channel, name: "general", isMember: true, members: 2 }] }],
  ["read_channel", { channel }, { items: [{ text: "The release is out", replies: 1 }, { text: "Good morning" }] }],
  ["read_channel", { channel, latest: ts }, { items: [{ text: "Good morning" }] }],
  ["read_thread", { channel, ts }, { items: [{ text: "The release is out" }, { text: "Thanks" }] }],
  [
    "search_messages",
    { query: "release" },
    { total: 1, matches: [{ channel: "general", text: "The release is out" }] },
  ],
  ["list_users", {}, { items: [{ name: "ada", realName: "ADA" }, { name: "bob" }] }],
  ["list_files", { channel }, { items: [{ name: "plan.md", type: "text/markdown", size: 6 }] }],
];

/** A call of each tool that changes something, and the method that it calls. */
const changes = ({ general: { id: channel }, ts }: Seeded): readonly [string, object, string][] => [
  ["post_message", { channel, text: "**Hello**", thread: ts }, "chat.postMessage"],
  ["add_reaction", { channel, ts, reaction: "eyes" }, "reactions.add"],
  [
    "upload_file",
    { channel, name: "notes.md", content: "# Notes", comment: "Read this" },
    "files.completeUploadExternal",
  ],
];

async function read(client: TestClient, uri: string): Promise<Data> {
  return JSON.parse(((await client.readResource(uri)).contents[0] as Data).text);
}

test("every tool and argument is described", async () => {
  const client = await open(await startSeeded());
  await expectDescribed(client);
  const writing = ["post_message", "add_reaction", "upload_file"];
  for (const { name, annotations } of await client.listTools()) {
    expect(annotations?.readOnlyHint, name).toBe(!writing.includes(name));
  }
});

describe.each(revisions)("on %s", (revision) => {
  test("reads channels, threads, users and matches, and changes nothing", async () => {
    const seeded = await startSeeded();
    const client = await open(seeded, {}, { revision });
    // Revisions before 2025-06-18 have no structured content, only the text.
    const hasData = revision >= "2025-06-18";
    for (const [tool, args, part] of readings(seeded)) {
      const { isError, content, structuredContent }: Data = await client.callTool(tool, args as never);
      expect(isError, JSON.stringify(content)).toBeFalsy();
      expect(content[0].text, tool).toMatch(/\w{3}/);
      if (hasData) expect(structuredContent, tool).toMatchObject(part);
    }
    const { id } = seeded.general;
    expect(await read(client, "slack://channels")).toMatchObject([{ name: "general" }]);
    expect(await read(client, "slack://users")).toMatchObject([{ name: "ada" }, { name: "bob" }]);
    expect(await read(client, `slack://channel/${id}`)).toMatchObject([{ text: "The release is out" }, {}]);
    expect(await read(client, `slack://channel/${id}/thread/${seeded.ts}`)).toMatchObject([{}, { text: "Thanks" }]);
    expect(await read(client, "slack://messages/release")).toMatchObject([{ channel: id, text: "The release is out" }]);
    const { contents } = await client.readResource(`slack://file/${seeded.fake.files[0]?.id}`);
    expect(contents).toMatchObject([{ text: "# Plan", mimeType: "text/markdown" }]);
    await expect(client.readResource("slack://channel/C404")).rejects.toThrow(/not found/i);
    expect(seeded.fake.changes).toEqual({});
  });
});

describe.each(revisions.filter((revision) => revision >= "2025-06-18"))("on %s", (revision) => {
  test("posts and reacts once after a yes, and not after a no", async () => {
    const seeded = await startSeeded();
    for (const [tool, args, method] of changes(seeded)) {
      const answers = scriptedAnswers(no, yes);
      const client = await open(seeded, {}, { revision, answers });
      const before = seeded.fake.changes[method] ?? 0;
      expect(await failureOf(client, tool, args)).toBe("The user declined: nothing was changed.");
      expect(seeded.fake.changes[method] ?? 0).toBe(before);
      await call(client, tool, args);
      expect(seeded.fake.changes[method]).toBe(before + 1);
    }
    expect(seeded.general.messages.at(-2)).toMatchObject({ text: "**Hello**", thread_ts: seeded.ts });
    expect(seeded.fake.files.at(-1)).toMatchObject({ name: "notes.md", channels: [seeded.general.id] });
    expect(seeded.fake.files.at(-1)?.bytes.toString()).toBe("# Notes");
    const client = await open(seeded, {}, { revision });
    expect(await read(client, "slack://tagged/eyes")).toMatchObject([{ text: "The release is out" }]);
    expect(await read(client, "slack://tagged/tada")).toEqual([]);
  });
});

test("changes nothing for a client that cannot ask, unless the operator allows it", async () => {
  const seeded = await startSeeded();
  for (const [tool, args] of changes(seeded)) {
    expect(await failureOf(await open(seeded), tool, args)).toContain("start the server with --yes");
  }
  expect(seeded.fake.changes).toEqual({});
  for (const [tool, args] of changes(seeded)) await call(await open(seeded, { ask: false }), tool, args);
  expect(seeded.fake.changes).toEqual({ "chat.postMessage": 1, "reactions.add": 1, "files.completeUploadExternal": 1 });
});

test("a server that only reads has no tool that changes anything", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded, { readOnly: true, ask: false });
  for (const [tool, args] of readings(seeded)) await call(client, tool, args);
  for (const [tool, args] of changes(seeded)) await expect(client.callTool(tool, args as never)).rejects.toThrow(tool);
  expect(seeded.fake.changes).toEqual({});
});

test("the user sees the whole message and where it goes, with hidden characters made visible", async () => {
  const seeded = await startSeeded();
  const answers = scriptedAnswers(no, no);
  const client = await open(seeded, {}, { answers });
  await failureOf(client, "post_message", { channel: seeded.general.id, text: "Hi\u202E all", thread: seeded.ts });
  await failureOf(client, "add_reaction", { channel: seeded.general.id, ts: seeded.ts, reaction: "eyes" });
  expect(answers.asked.map(({ params }: Data) => params.message)).toEqual([
    "Post this to a thread of #general?\n\nHi\\u{202e} all",
    "React with :eyes: in #general to this message?\n\nThe release is out",
  ]);
});

test("lists in pages: a cursor continues, and one of another list is refused", async () => {
  const seeded = await startSeeded();
  for (let number = 0; number < 23; number += 1) seeded.fake.say(seeded.general, "bob", `Message ${number}`);
  const client = await open(seeded);
  const channel = seeded.general.id;
  const texts: string[] = [];
  let page: Data = await call(client, "read_channel", { channel, limit: 10 });
  const { cursor } = page;
  for (let pages = 0; pages < 5; pages += 1) {
    texts.push(...page.items.map(({ text }: Data) => text));
    if (page.cursor === undefined) break;
    page = await call(client, "read_channel", { channel, limit: 10, cursor: page.cursor });
  }
  expect(texts).toHaveLength(25);
  expect([texts[0], texts.at(-1)]).toEqual(["Message 22", "Good morning"]);
  expect(await failureOf(client, "list_users", { limit: 10, cursor })).toContain("cursor: expected one");
});

test("completes a channel by its name, and reports new messages to subscribers", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded);
  const { id } = seeded.general;
  const reference = { type: "ref/resource" as const, uri: "slack://channel/{channel}" };
  expect((await client.complete(reference, { name: "channel", value: "#gen" })).values).toEqual([id]);
  const uri = `slack://channel/${id}`;
  const watch = await client.watch({ uris: [uri] });
  seeded.fake.say(seeded.general, "bob", "News");
  for await (const change of watch) {
    expect(change).toEqual({ kind: "resource", uri });
    break;
  }
});

const error = (name: string): SlackFault => ({ status: 200, body: { ok: false, error: name } });

/** A fault that lasts, what the model is told, and how often the request is sent. */
const lasting: readonly [string, SlackFault, string, number][] = [
  [
    "a revoked token",
    error("token_revoked"),
    "Slack does not accept the sign-in: token_revoked. Make a new token at",
    1,
  ],
  ["an unknown channel", error("channel_not_found"), "Slack has nothing there, or does not show it to this account", 1],
  ["a forbidden action", error("restricted_action"), "Slack does not allow this to this account: restricted_action", 1],
  ["an unknown error", error("odd"), "Slack refused the request: odd", 1],
  [
    "a limit that is long",
    { status: 429, headers: { "retry-after": "30" } },
    "Slack limits requests. Try again in 30 s",
    1,
  ],
  ["a limit without a time", error("ratelimited"), "Slack limits requests: ratelimited. Try again later", 4],
  ["an outage", { status: 503, body: "<html>" }, "Slack did not answer properly", 4],
  ["an error inside Slack", error("internal_error"), "Slack did not answer properly: internal_error", 4],
  ["an answer that is not JSON", { status: 200, body: "<html>" }, "its response is not JSON of the Web API", 4],
  ["a cut connection", "cut", "Slack did not answer properly", 4],
  ["a huge answer", "huge", "The response of Slack is larger than 8388608 bytes", 1],
];

test.each(lasting)("%s is explained to the model, without the token", async (_, fault, message, times) => {
  const seeded = await startSeeded();
  seeded.fake.fail(fault, 100);
  const client = await open(seeded);
  expect(await failureOf(client, "list_users")).toContain(message);
  expect(seeded.fake.calls).toHaveLength(times);
  expect(client.transcript.toString()).not.toContain(seeded.token);
});

test("a message is not posted twice after a failure, and the model is told to look", async () => {
  const seeded = await startSeeded();
  seeded.fake.fail("cut", 5, ({ method }) => method === "chat.postMessage");
  const client = await open(seeded, { ask: false });
  const failure = await failureOf(client, "post_message", { channel: seeded.general.id, text: "Once" });
  expect(failure).toContain("The change may have been made: look before you try again");
  expect(seeded.fake.changes).toEqual({ "chat.postMessage": 1 });
});

test("a scope that is missing is named, and bots are told that they cannot search", async () => {
  const seeded = await startSeeded();
  const poor = await open({ ...seeded, token: seeded.fake.token("ada", ["channels:read"]) });
  expect(await failureOf(poor, "list_users")).toContain("The sign-in at Slack lacks the permission users:read");
  const bot = await open({ ...seeded, token: seeded.fake.token("ada", ["search:read"], true) });
  expect(await failureOf(bot, "search_messages", { query: "x" })).toContain("not_allowed_token_type");
});

test("a private channel of others is neither listed nor found nor read", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded);
  const secret = seeded.fake.channels[1]?.id ?? "";
  expect(JSON.stringify(await call(client, "list_channels"))).not.toContain("secret");
  expect(await failureOf(client, "read_channel", { channel: secret })).toContain("Slack has nothing there");
  expect(await call(client, "search_messages", { query: "cancelled" })).toMatchObject({ total: 0 });
});

test("uploads bytes, refuses what is no base64, and shares in a thread", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded, { ask: false });
  const args = { channel: seeded.general.id, name: "dot.png", encoding: "base64", thread: seeded.ts };
  const failure = await failureOf(client, "upload_file", { ...args, content: "no base64!" });
  expect(failure).toBe("content: expected base64. Nothing was sent");
  expect(await call(client, "upload_file", { ...args, content: "iVBORwD/" })).toMatchObject({ size: 6 });
  const file = seeded.fake.files.at(-1);
  expect(file?.bytes).toEqual(Buffer.from("iVBORwD/", "base64"));
  const { contents }: Data = await client.readResource(`slack://file/${file?.id}`);
  expect(contents[0].blob).toBe("iVBORwD/");
});

test("the user sees what is uploaded, and a failed last step is not repeated", async () => {
  const seeded = await startSeeded();
  const answers = scriptedAnswers(no);
  const args = { channel: seeded.general.id, name: "long.txt", content: "x".repeat(5_000), comment: "Look" };
  await failureOf(await open(seeded, {}, { answers }), "upload_file", args);
  const [{ params }] = answers.asked as Data;
  expect(params.message).toBe(
    `Upload long.txt (5000 bytes) to #general?\n\nLook\n\n${"x".repeat(4_000)}\n[1000 more characters]`,
  );
  expect(seeded.fake.files).toHaveLength(1);
  seeded.fake.fail("cut", 5, ({ method }) => method === "files.completeUploadExternal");
  const failure = await failureOf(await open(seeded, { ask: false }), "upload_file", args);
  expect(failure).toContain("The change may have been made: look before you try again");
  expect(seeded.fake.changes).toEqual({ "files.completeUploadExternal": 1 });
});

test("an upload goes on after a failure that nobody sees, and no token is sent to its address", async () => {
  const seeded = await startSeeded();
  seeded.fake.fail({ status: 503 }, 1, ({ method }) => method === "files.getUploadURLExternal");
  seeded.fake.fail({ status: 502 }, 1, ({ method }) => method.startsWith("/upload/"));
  const seen: (string | undefined)[] = [];
  seeded.fake.fail({ status: 500 }, 1, ({ method, user }) => {
    if (method.startsWith("/upload/")) seen.push(user);
    return false;
  });
  const client = await open(seeded, { ask: false });
  await call(client, "upload_file", { channel: seeded.general.id, name: "a.txt", content: "a" });
  expect(seeded.fake.files.at(-1)?.bytes.toString()).toBe("a");
  expect(seen).toEqual([undefined]);
});

test("a file at another host is not fetched, so that no token is sent there", async () => {
  const seeded = await startSeeded();
  const file = { id: "F1", name: "x", url_private_download: "http://127.0.0.2:1/x" };
  seeded.fake.fail({ status: 200, body: { ok: true, file } }, 1, ({ method }) => method === "files.info");
  await expect((await open(seeded)).readResource("slack://file/F1")).rejects.toThrow(
    "Slack named an address at 127.0.0.2:1, which is not its own. Nothing was sent there",
  );
});

test("a file that the account may not download is told from a web page", async () => {
  const seeded = await startSeeded();
  const page = { status: 200, headers: { "content-type": "text/html" }, body: "<h1>Sign in</h1>" };
  seeded.fake.fail(page, 1, ({ method }) => method.startsWith("/files-pri/"));
  const uri = `slack://file/${seeded.fake.files[0]?.id}`;
  await expect((await open(seeded)).readResource(uri)).rejects.toThrow("may lack the permission files:read");
});

test("lists files in pages", async () => {
  const seeded = await startSeeded();
  for (let number = 0; number < 4; number += 1) seeded.fake.share(seeded.general, "bob", `${number}.md`, "x");
  const client = await open(seeded);
  const first = await call(client, "list_files", { limit: 3 });
  const second = await call(client, "list_files", { limit: 3, cursor: first.cursor });
  const names = [...first.items, ...second.items].map(({ name }: Data) => name);
  expect([names, second.cursor]).toEqual([["3.md", "2.md", "1.md", "0.md", "plan.md"], undefined]);
});
