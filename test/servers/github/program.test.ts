// The program as a host starts it.
import { spawnSync } from "node:child_process";
import { beforeEach, expect, test } from "vitest";
import { grade } from "../../../packages/check/src/index.ts";
import type { FakeGithub } from "../../services/github/fake.ts";
import { forOfficialClients } from "../kit/official.ts";
import { connectTo, entryOf, scriptOf, serveHttp } from "../kit/programs.ts";
import { call, failureOf, start } from "../kit/tools.ts";
import { hello, startSeeded } from "./kit.ts";

const script = scriptOf("github");

let seeded: Awaited<ReturnType<typeof startSeeded>>;

beforeEach(async () => {
  seeded = await startSeeded();
});

function environment({ fake, token }: { readonly fake: FakeGithub; readonly token: string }) {
  return { GITHUB_TOKEN: token, GITHUB_API_URL: `${fake.origin}/` };
}

test("starts as its README says, and reads with the token of the environment", async () => {
  const client = await connectTo({ ...entryOf("examples/servers/github.json"), env: environment(seeded) });
  expect(await call(client, "get_repository", hello)).toMatchObject({ repository: "ada/hello" });
  expect(await failureOf(client, "add_comment", { ...hello, number: 1, body: "Hi" })).toContain(
    "start the server with --yes",
  );
});

test("changes nothing with --read-only, and asks nobody with --yes", async () => {
  const reader = await start(script, ["--read-only"], environment(seeded));
  expect((await reader.listTools()).map(({ name }) => name)).not.toContain("add_comment");
  const writer = await start(script, ["--yes", "--api", seeded.fake.origin], { GITHUB_TOKEN: seeded.token });
  expect(await call(writer, "add_comment", { ...hello, number: 1, body: "Hi" })).toMatchObject({ body: "Hi" });
  expect(seeded.fake.counts).toEqual({ POST: 1 });
});

test("serves over HTTP, and says how to get a token", async () => {
  const client = await connectTo(await serveHttp(script));
  expect(await failureOf(client, "get_repository", hello)).toContain("set GITHUB_TOKEN to it");
});

test.each([
  [["--api", "http://github.example.com"], {}, "--api: expected an https address, or http on this machine", 2],
  [[], { GITHUB_API_URL: "nowhere" }, "GITHUB_API_URL: expected an https address", 1],
  [[], { GITHUB_TOKEN: "ghp_secret and more" }, "GITHUB_TOKEN: expected one token", 1],
  [["--timeout", "soon"], {}, "--timeout: expected a whole number", 2],
])("exits with the reason for %j and %j, without the token", (args, env, reason, code) => {
  const { status, stderr } = spawnSync(process.execPath, [script, ...args], {
    encoding: "utf8",
    input: "",
    env: { ...process.env, ...env },
  });
  expect({ status, stderr }).toEqual({ status: code, stderr: expect.stringContaining(reason) });
  expect(stderr).not.toContain("secret");
});

test("conforms to the protocol on every revision, without a token and without a network", async () => {
  const { isPassed, totals, verdicts } = await grade({ command: process.execPath, args: [script] });
  expect(verdicts.filter((verdict) => verdict.grade === "fail")).toEqual([]);
  expect(totals.filter(({ isSpoken }) => isSpoken)).toHaveLength(5);
  expect(isPassed).toBe(true);
});

forOfficialClients(
  script,
  "reads, gets prompts and resources, and changes after the user agrees",
  async (client) => {
    const { all } = await client.listTools();
    expect(all).toHaveLength(22);
    const found = await client.callTool("get_pull_request", { ...hello, number: 2 });
    expect(found).toMatchObject({ structuredContent: { pull: { number: 2 }, mergeable: "yes" } });
    const templates = (await client.listTemplates()).all.map(({ uriTemplate }) => uriTemplate);
    expect(templates).toContain("github://{owner}/{repo}/file/{ref}/{+path}");
    const { contents } = await client.readResource("github://ada/hello/pull/2/diff");
    expect(contents[0].text).toContain("+export const answer = 42;");
    const { messages } = await client.getPrompt("work_on_issue", { ...hello, number: "1" });
    expect(messages[1].content.text).toContain("It says 41");
    const { structuredContent } = await client.callTool("add_comment", { ...hello, number: 1, body: "Done" });
    expect(structuredContent).toMatchObject({ author: "ada", body: "Done" });
    expect(client.asked).toMatchObject([
      { method: "elicitation/create", params: { message: "Comment on #1 of ada/hello?\n\nDone" } },
    ]);
    expect(seeded.fake.counts["POST"]).toBe(1);
  },
  () => environment(seeded),
);
