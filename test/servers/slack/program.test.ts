// The program as a host starts it.
import { beforeEach, expect, test } from "vitest";
import { grade } from "../../../packages/check/src/index.ts";
import { forOfficialClients } from "../kit/official.ts";
import { connectTo, entryOf, scriptOf } from "../kit/programs.ts";
import { call, failureOf, start } from "../kit/tools.ts";
import { startSeeded } from "./kit.ts";

const script = scriptOf("slack");

let seeded: Awaited<ReturnType<typeof startSeeded>>;

beforeEach(async () => {
  seeded = await startSeeded();
});

function environment() {
  return { SLACK_TOKEN: seeded.token, SLACK_API_URL: seeded.fake.api };
}

test("starts as its README says, and reads with the token of the environment", async () => {
  const client = await connectTo({ ...entryOf("examples/servers/slack.json"), env: environment() });
  expect(await call(client, "list_channels")).toMatchObject({ items: [{ name: "general" }] });
});

test("changes nothing with --read-only, asks nobody with --yes, and says how to get a token", async () => {
  const reader = await start(script, ["--read-only"], environment());
  expect((await reader.listTools()).map(({ name }) => name)).not.toContain("post_message");
  const writer = await start(script, ["--yes", "--api", seeded.fake.api], { SLACK_TOKEN: seeded.token });
  await call(writer, "post_message", { channel: seeded.general.id, text: "Hi" });
  expect(seeded.fake.changes).toEqual({ "chat.postMessage": 1 });
  expect(await failureOf(await start(script), "list_channels")).toContain("set SLACK_TOKEN to it");
});

test("conforms to the protocol on every revision, without a token and without a network", async () => {
  const { isPassed, totals, verdicts } = await grade({ command: process.execPath, args: [script] });
  expect(verdicts.filter((verdict) => verdict.grade === "fail")).toEqual([]);
  expect(totals.filter(({ isSpoken }) => isSpoken)).toHaveLength(5);
  expect(isPassed).toBe(true);
});

forOfficialClients(
  script,
  "reads channels and resources, and posts after the user agrees",
  async (client) => {
    expect((await client.listTools()).all).toHaveLength(9);
    const channel = seeded.general.id;
    const { contents } = await client.readResource(`slack://channel/${channel}`);
    expect(contents[0].text).toContain("The release is out");
    const { structuredContent } = await client.callTool("post_message", { channel, text: "Hello" });
    expect(structuredContent).toMatchObject({ channel });
    expect(client.asked).toMatchObject([{ params: { message: "Post this to #general?\n\nHello" } }]);
    expect(seeded.fake.changes).toEqual({ "chat.postMessage": 1 });
  },
  environment,
);
