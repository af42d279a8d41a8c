// The program as a host starts it.
import { beforeEach, expect, test } from "vitest";
import { grade } from "../../../packages/check/src/index.ts";
import { forOfficialClients } from "../kit/official.ts";
import { connectTo, entryOf, scriptOf } from "../kit/programs.ts";
import { call, failureOf, start } from "../kit/tools.ts";
import { startSeeded } from "./kit.ts";

const script = scriptOf("asana");

let seeded: Awaited<ReturnType<typeof startSeeded>>;

beforeEach(async () => {
  seeded = await startSeeded();
});

function environment() {
  return { ASANA_TOKEN: seeded.token, ASANA_API_URL: seeded.fake.api };
}

test("starts as its README says, and reads with the token of the environment", async () => {
  const client = await connectTo({ ...entryOf("examples/servers/asana.json"), env: environment() });
  expect(await call(client, "list_workspaces")).toMatchObject({ items: [{ name: "Acme" }] });
});

test("changes nothing with --read-only, asks nobody with --yes, and says how to get a token", async () => {
  const reader = await start(script, ["--read-only"], environment());
  expect((await reader.listTools()).map(({ name }) => name)).not.toContain("create_task");
  const writer = await start(script, ["--yes", "--api", seeded.fake.api], { ASANA_TOKEN: seeded.token });
  await call(writer, "add_comment", { task: seeded.task.gid, text: "Hi" });
  expect(seeded.fake.counts["POST"]).toBe(1);
  expect(await failureOf(await start(script), "list_workspaces")).toContain("set ASANA_TOKEN to it");
});

test("conforms to the protocol on every revision, without a token and without a network", async () => {
  const { isPassed, totals, verdicts } = await grade({ command: process.execPath, args: [script] });
  expect(verdicts.filter((verdict) => verdict.grade === "fail")).toEqual([]);
  expect(totals.filter(({ isSpoken }) => isSpoken)).toHaveLength(5);
  expect(isPassed).toBe(true);
});

forOfficialClients(
  script,
  "reads projects and resources, and comments after the user agrees",
  async (client) => {
    expect((await client.listTools()).all).toHaveLength(13);
    const task = seeded.task.gid;
    const { contents } = await client.readResource(`asana://task/${task}`);
    expect(contents[0].text).toContain("Two pages");
    const { structuredContent } = await client.callTool("add_comment", { task, text: "Ready" });
    expect(structuredContent).toMatchObject({ author: "ada", text: "Ready" });
    const message = 'Comment on the task "Write the announcement"?\n\nReady';
    expect(client.asked).toMatchObject([{ params: { message } }]);
    expect(seeded.fake.counts["POST"]).toBe(1);
  },
  environment,
);
