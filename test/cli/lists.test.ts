import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, type Ran, root, runPortolan } from "./kit.ts";
import { put } from "./manage-kit.ts";

const listing = join(root, "test/cli/fixtures/listing.mjs");

/** Runs a command on a server whose lists have these faults. */
function runOn(command: readonly string[], ...faults: readonly string[]): Promise<Ran> {
  return runPortolan([...command, "--", process.execPath, listing, ...faults], { cwd: makeHome() });
}

function errorIn({ stderr }: Ran): { kind: string; message: string; next?: string } {
  return JSON.parse(stderr.split("\n")[0] ?? "").error;
}

test("ls shows the rest when one list fails, and the reason first", async () => {
  const ran = await runOn(["ls"], "tools/list=error");
  expect(ran.code).toBe(8);
  expect(errorIn(ran)).toMatchObject({
    kind: "protocol",
    message: "listing did not list its tools: the database is locked (-32602)",
    next: expect.stringMatching(/^portolan doctor -- /),
  });
  expect(JSON.parse(ran.stdout)).toMatchObject({
    tools: [],
    prompts: [{ name: "greet" }],
    problems: [{ list: "tools", kind: "failed" }],
  });
});

test("ls fails when the server ends while it is listed", async () => {
  const ran = await runOn(["ls"], "tools/list=exit");
  expect([ran.code, ran.stdout]).toEqual([4, ""]);
  expect(errorIn(ran).message).toContain("there is no database at /nowhere");
});

test("ls, call and doctor report a list that does not end", async () => {
  const cwd = makeHome();
  const server = { command: process.execPath, args: [listing, "tools/list=hang"], timeout: 500 };
  put(cwd, ".mcp.json", { mcpServers: { slow: server } });
  await runPortolan(["trust", "slow", "--yes"], { cwd });
  for (const command of [
    ["ls", "slow"],
    ["call", "slow.echo"],
  ]) {
    const ran = await runPortolan(command, { cwd });
    expect([ran.code, errorIn(ran).kind]).toEqual([7, "timeout"]);
    expect(errorIn(ran).message).toMatch(/^slow did not list its tools: tools\/list: no answer/);
  }
  const ran = await runPortolan(["doctor", "slow", "--timeout", "0.5"], { cwd });
  expect(ran.code).toBe(1);
  expect(JSON.parse(ran.stdout).findings).toMatchObject([
    { id: "list-failed", level: "error", what: expect.stringContaining("no answer") },
  ]);
});

test("ls notes a missing method and an invalid tool, and succeeds", async () => {
  const ran = await runOn(["ls"], "resources/templates/list=missing", "tools/list=invalid");
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  const { tools, resources, problems } = JSON.parse(ran.stdout);
  expect([tools.length, resources.length]).toEqual([1, 1]);
  expect(problems.map(({ message }: { message: string }) => message)).toEqual([
    expect.stringContaining('"crooked".inputSchema'),
    expect.stringContaining('"odd".description'),
    expect.stringContaining("item 3"),
    expect.stringContaining("does not support resources/templates/list"),
  ]);
});

test("call reports that the server ends while it is listed, not that there is no such tool", async () => {
  const ran = await runOn(["call", "echo"], "tools/list=exit");
  expect([ran.code, errorIn(ran).kind]).toEqual([4, "unreachable"]);
  expect(errorIn(ran).message).toContain("there is no database at /nowhere");
});

test.each([
  ["error", "listing did not list its tools: the database is locked (-32602)"],
  ["missing", "does not support tools/list"],
])("call is made although tools/list is %s, and the reason is noted", async (fault, why) => {
  const ran = await runOn(["call", "echo", "days=2", "deep:=[1]"], `tools/list=${fault}`);
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({ content: [{ text: 'said again {"days":"2","deep":[1]}' }] });
  expect(ran.stderr).toContain(why);
  expect(ran.stderr).toContain("arguments are sent as given");
});

test("call suggests the nearest tool, and says how many more there are", async () => {
  const near = await runOn(["call", "ehco"]);
  expect(errorIn(near)).toMatchObject({ message: 'listing has no tool "ehco"; did you mean echo?' });
  const far = await runOn(["call", "unrelated"], "tools/list=many");
  expect(errorIn(far).message).toMatch(/; available: tool-1, .*tool-10, … and 16 more: portolan ls -- /);
});

test("call prints the whole result of a tool that failed, and the _meta of one that did not", async () => {
  const failed = await runOn(["call", "echo"], "tools/call=failed");
  expect([failed.code, errorIn(failed).message]).toEqual([5, "out of ink"]);
  const content = [{ type: "text", text: "out of ink" }];
  expect(JSON.parse(failed.stdout)).toEqual({
    content,
    isError: true,
    structuredContent: { left: 0 },
    _meta: { a: 1 },
  });
  const done = await runOn(["call", "echo"], "tools/call=meta");
  expect(JSON.parse(done.stdout)).toMatchObject({ _meta: { a: 1 } });
});

test("call says why a tool is left out", async () => {
  const ran = await runOn(["call", "crooked"], "tools/list=invalid");
  expect([ran.code, errorIn(ran).message]).toEqual([8, expect.stringContaining("expected an object, got nothing")]);
  expect((await runOn(["call", "echo"], "tools/list=invalid")).code).toBe(0);
});

test("prompt and read report a list that failed", async () => {
  const prompt = await runOn(["prompt", "greet"], "prompts/list=error");
  expect([prompt.code, errorIn(prompt).message]).toEqual([8, expect.stringContaining("did not list its prompts")]);
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { s: { command: process.execPath, args: [listing, "resources/list=error"] } } });
  await runPortolan(["trust", "s", "--yes"], { cwd });
  const read = await runPortolan(["read", "s"], { cwd });
  expect([read.code, errorIn(read).message]).toEqual([8, expect.stringContaining("did not list its resources")]);
});

test.each([
  ["tools/list=error", 1, "list-failed", "error"],
  ["tools/list=exit", 1, "command-exits", "error"],
  ["resources/templates/list=missing", 0, "missing-method", "warning"],
  ["prompts/list=invalid", 0, "invalid-feature", "warning"],
])("doctor reports %s", async (fault, code, id, level) => {
  const ran = await runOn(["doctor"], fault);
  expect(ran.code).toBe(code);
  const { findings, servers } = JSON.parse(ran.stdout);
  expect(findings[0]).toMatchObject({ id, level });
  // The number of tools is not known if they could not be listed.
  expect(Object.hasOwn(servers[0], "tools")).toBe(code === 0);
});

test("the overview does not count tools that are unknown", async () => {
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { s: { command: process.execPath, args: [listing, "tools/list=error"] } } });
  await runPortolan(["trust", "s", "--yes"], { cwd });
  const ran = await runPortolan([], { cwd });
  expect(JSON.parse(ran.stdout).servers).toMatchObject([
    {
      name: "s",
      detail: expect.stringContaining("the database is locked"),
      next: "portolan doctor s",
      problems: [{ list: "tools", kind: "failed" }],
    },
  ]);
});

test("a completion that fails does not hide the other addresses", async () => {
  const cwd = makeHome();
  const args = [listing, "completion/complete=error"];
  put(cwd, ".mcp.json", { mcpServers: { s: { command: process.execPath, args } } });
  await runPortolan(["trust", "s", "--yes"], { cwd });
  const { stdout } = await runPortolan(["complete-words", "--", "read", "s", ":day:///"], { cwd });
  expect(stdout.split("\n")).toContain("day:///today");
});
