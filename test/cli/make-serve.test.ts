import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type ClientExtension, connect } from "portolan/client";
import { getSkill, listSkills, openSkill, readSkillFile, readSkillFolder } from "portolan/client/skills";
import { apps } from "portolan-host/apps";
import { afterEach, describe, expect, test } from "vitest";
import { quickServer } from "../kit/quick-servers.mjs";
import { revisions } from "../kit/revisions.ts";
import { portolan, runPortolan } from "./kit.ts";
import { makeProject, type Running, root, startPortolan, until, weather } from "./make-kit.ts";

const everything = join(root, "packages/servers/everything/dist/main.js");
const sdk = quickServer(join(root, "test/peers/servers/sdk-v1.mjs"));

const started: Running[] = [];
afterEach(async () => {
  for (const running of started.splice(0)) await running.end("SIGKILL");
});

async function serve(folder: string, args: readonly string[], env: { [name: string]: string } = {}) {
  const running = startPortolan(["serve", "--http", "0", ...args], folder, env);
  started.push(running);
  const ready = await running.event("ready");
  return { running, ready, url: String(ready["url"]) };
}

/** The same over standard input and output. */
function overStdio(folder: string, url: string, ...more: string[]) {
  return {
    command: process.execPath,
    args: [portolan, "serve", url, "--stdio", ...more],
    cwd: folder,
    env: { HOME: folder, PORTOLAN_HOME: join(folder, ".portolan") },
  };
}

const answers = {
  elicit: () => ({ action: "accept" as const, content: {} }),
  sample: () => ({ role: "assistant" as const, model: "m", content: { type: "text" as const, text: "sampled" } }),
};

describe.each(["2025-11-25", "2026-07-28"])("a %s server over standard input and output", (spoken) => {
  test("is the same over HTTP for every revision, and back again", async () => {
    const folder = makeProject();
    const { url, ready, running } = await serve(folder, ["--era", spoken, "--", process.execPath, everything]);
    expect(ready).toMatchObject({ name: "portolan-everything", speaks: spoken, isProtected: false });
    const direct = await connect({ command: process.execPath, args: [everything] });
    const tools = (await direct.listTools()).map(({ name }) => name).sort();
    const prompts = (await direct.listPrompts()).map(({ name }) => name).sort();
    await direct.close();
    for (const revision of revisions.slice(1)) {
      const client = await connect(url, { era: revision, answers });
      expect(client.server).toMatchObject({ version: revision, info: { name: "portolan-everything" } });
      expect((await client.listTools()).map(({ name }) => name).sort()).toEqual(tools);
      expect((await client.listPrompts()).map(({ name }) => name).sort()).toEqual(prompts);
      await client.close();
    }
    const back = await connect(overStdio(folder, url), { era: "2024-11-05" });
    expect((await back.listTools()).map(({ name }) => name).sort()).toEqual(tools);
    await back.close();
    expect(await running.end()).toBe(0);
  });

  test.each(["2025-11-25", "2026-07-28"])("asks clients of %s", async (revision) => {
    const folder = makeProject();
    const { url } = await serve(folder, ["--era", spoken, "--", process.execPath, everything]);
    const client = await connect(url, { era: revision, answers });
    expect((await client.callTool("ask-yes", {})).structuredContent).toEqual({ yes: true });
    await client.close();
  });
});

const requirementServer = (name: string) => quickServer(join(root, "test/requirements/servers", `${name}.mjs`));
const serveModule = join(root, "test/kit/serve.mjs");

describe.each(["2025-11-25", "2026-07-28"])("a %s server with extensions", (spoken) => {
  const command = (name: string) => ["--era", spoken, "--", process.execPath, serveModule, requirementServer(name)];

  test.each(["2025-06-18", "2025-11-25", "2026-07-28"])("has its skills for clients of %s", async (era) => {
    const { url } = await serve(makeProject(), command("skills"));
    await using client = await connect(url, { era });
    const all = await listSkills(client);
    expect(all.length).toBe(123);
    const refunds = await getSkill(client, "skill://acme/refunds/SKILL.md");
    expect((await openSkill(client, refunds)).isVerified).toBe(true);
    expect((await readSkillFile(client, refunds, "examples/email.md")).isVerified).toBe(true);
    const dynamic = { ...refunds, resources: "dynamic" } as const;
    expect((await readSkillFolder(client, dynamic, "examples")).map(({ name }) => name)).toEqual([
      "email.md",
      "regional",
    ]);
    await expect(getSkill(client, "skill://acme/none/SKILL.md")).rejects.toMatchObject({ code: -32_602 });
  });

  test.each(["2025-11-25", "2026-07-28"])("shows its apps to clients of %s that know apps", async (era) => {
    const { url } = await serve(makeProject(), command("apps"));
    const namesOf = async (extensions: ClientExtension[]) => {
      await using client = await connect(url, { era, extensions });
      const tools = await client.listTools();
      return tools.map(({ name, _meta }) => (_meta?.["ui"] ? `${name} with an app` : name)).sort();
    };
    const plain = ["count", "move", "resign", "silent"];
    expect(await namesOf([])).toEqual(plain);
    const known = await namesOf([apps()]);
    expect(known).toEqual(["count", ...["hint", "move", "resign", "silent"].map((name) => `${name} with an app`)]);
    await using client = await connect(url, { era, extensions: [apps()] });
    const { contents } = await client.readResource("ui://chess/board");
    expect(contents[0]).toMatchObject({
      mimeType: "text/html;profile=mcp-app",
      _meta: { ui: { prefersBorder: true } },
    });
  });

  test("waits for the tasks of its tools", async () => {
    const { url } = await serve(makeProject(), command("tasks"));
    await using client = await connect(url, { answers });
    expect(await client.callTool("must")).toMatchObject({ content: [{ text: "a required result" }] });
  });
});

test("forwards progress, logs, completions, resources and errors", async () => {
  const folder = makeProject({
    "server.mjs": `import { createServer, ToolError } from "portolan/server";
export default createServer({ name: "all", version: "1" }, { instructions: "Be kind" })
  .tool("work", { run: (_, ctx) => { ctx.progress(1, 2, "half"); ctx.log("info", { a: 1 }, "x"); return "done"; } })
  .tool("fail", { run: () => { throw new ToolError("not today"); } })
  .tool("sample", { run: async (_, ctx) => JSON.stringify(await ctx.sample("s", { messages: [], maxTokens: 5 })) })
  .tool("roots", { run: async (_, ctx) => JSON.stringify(await ctx.roots()) })
  .resource("x://a", { mimeType: "text/plain", read: () => "text of a" })
  .template("x://t/{name}", { complete: { name: ["one", "two"] }, read: ({ name }) => name === "none" ? undefined : "t " + name })
  .prompt("p", { arguments: { who: { required: true, complete: ["Ada", "Bob"] } }, get: ({ who }) => "Hello " + who });
`,
  });
  const { url } = await serve(folder, ["server.mjs"]);
  for (const era of ["2025-06-18", "2026-07-28"]) {
    const logs: unknown[] = [];
    const steps: unknown[] = [];
    const client = await connect(url, {
      era,
      answers: { ...answers, roots: [{ uri: "file:///work" }] },
      logLevel: "debug",
      onLog: (message) => logs.push(message),
    });
    expect(client.server.instructions).toBe("Be kind");
    const worked = await client.callTool("work", {}, { onProgress: (step) => steps.push(step) });
    expect(worked.content).toEqual([{ type: "text", text: "done" }]);
    expect(steps).toMatchObject([{ progress: 1, total: 2, message: "half" }]);
    await until(() => logs.length > 0);
    expect(logs).toEqual([expect.objectContaining({ level: "info", data: { a: 1 }, logger: "x" })]);
    expect(await client.callTool("fail")).toMatchObject({ isError: true, content: [{ text: "not today" }] });
    expect((await client.callTool("sample")).content).toMatchObject([{ text: expect.stringContaining("sampled") }]);
    expect((await client.callTool("roots")).content).toMatchObject([{ text: expect.stringContaining("file:///work") }]);
    expect((await client.readResource("x://a")).contents).toMatchObject([
      { text: "text of a", mimeType: "text/plain" },
    ]);
    expect((await client.readResource("x://t/one")).contents).toMatchObject([{ text: "t one" }]);
    await expect(client.readResource("x://t/none")).rejects.toThrow();
    await expect(client.callTool("nothing")).rejects.toThrow();
    const ref = { type: "ref/prompt", name: "p" } as const;
    expect((await client.complete(ref, { name: "who", value: "A" })).values).toEqual(["Ada"]);
    expect((await client.getPrompt("p", { who: "Ada" })).messages).toMatchObject([{ content: { text: "Hello Ada" } }]);
    await client.close();
  }
});

test("notifies clients of changed features", async () => {
  const folder = makeProject();
  const { url } = await serve(folder, ["--", process.execPath, join(root, "examples/notes/server.mjs")]);
  const client = await connect(url);
  const watch = await client.watch({ resources: true });
  const changes = watch[Symbol.asyncIterator]();
  await client.callTool("add_note", { title: "milk", text: "two" });
  expect((await changes.next()).value).toEqual({ kind: "resources" });
  expect((await client.listResources({ fresh: true })).map(({ name }) => name)).toContain("milk");
  await client.close();
});

test("serves an official server to clients of every revision", async () => {
  const folder = makeProject();
  const { url } = await serve(folder, ["--", process.execPath, sdk]);
  const direct = await connect({ command: process.execPath, args: [sdk] });
  const tools = await direct.listTools();
  await direct.close();
  for (const era of ["2025-03-26", "2026-07-28"]) {
    const client = await connect(url, { era });
    const schemas = (listed: typeof tools) => Object.fromEntries(listed.map((tool) => [tool.name, tool.inputSchema]));
    expect(schemas(await client.listTools())).toEqual(schemas(tools));
    await client.close();
  }
});

test("restarts a killed server for the next call", async () => {
  const folder = makeProject({
    "server.mjs": `import { createServer } from "portolan/server";
export default createServer({ name: "x", version: "1" })
  .tool("pid", { run: () => String(process.pid) })
  .tool("die", { run: () => process.exit(1) });
`,
  });
  const { url } = await serve(folder, ["server.mjs"]);
  const client = await connect(url);
  const pid = async () => JSON.stringify((await client.callTool("pid")).content);
  const before = await pid();
  await expect(client.callTool("die")).rejects.toMatchObject({ code: -31502 });
  const after = await until(async () => pid().catch(() => undefined));
  expect(after).not.toBe(before);
  await client.close();
});

test("requires the token, and needs one for addresses beyond loopback", async () => {
  const folder = makeProject(weather);
  const { ready, url } = await serve(folder, ["server.ts"], { PORTOLAN_TOKEN: "let-me-in-please" });
  expect(ready["isProtected"]).toBe(true);
  await expect(connect(url)).rejects.toThrow();
  const auth = { authorize: () => ({ authorization: "Bearer let-me-in-please" }) };
  const client = await connect(url, { auth });
  expect(await client.listTools()).toHaveLength(1);
  await client.close();
  const open = await runPortolan(["serve", "server.ts", "--http", "0", "--host", "0.0.0.0"], { cwd: folder });
  expect(open.code).not.toBe(0);
  expect(JSON.parse(open.stderr.trim().split("\n").at(-1)!).error.message).toMatch(/0\.0\.0\.0/);
});

test("serves a configured server only after it is trusted", async () => {
  const folder = makeProject({
    ".mcp.json": JSON.stringify({ mcpServers: { theirs: { command: process.execPath, args: ["-e", ""] } } }),
  });
  for (const args of [
    ["serve", "theirs"],
    ["record", "theirs"],
    ["replay", "x.jsonl", "--check", "theirs"],
  ]) {
    const header = { recording: 1, by: "x", server: "x", startedAt: "", redacted: true };
    const { writeFileSync } = await import("node:fs");
    writeFileSync(join(folder, "x.jsonl"), `${JSON.stringify(header)}\n`);
    const { code, stderr } = await runPortolan(args, { cwd: folder });
    expect({ code, error: JSON.parse(stderr).error }).toMatchObject({
      code: 6,
      error: { next: "portolan trust theirs" },
    });
  }
});

test("refuses wrong usage with a reason", async () => {
  const folder = makeProject(weather);
  const both = await runPortolan(["serve", "server.ts", "--http", "0", "--stdio"], { cwd: folder });
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("not both") });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const taken = await runPortolan(["serve", "server.ts", "--http", String(port)], { cwd: folder });
  server.close();
  expect(taken).toMatchObject({ code: 2, stderr: expect.stringContaining(`port ${port} of 127.0.0.1 is in use`) });
  const dead = await runPortolan(["serve", "--", process.execPath, "-e", "process.exit(3)"], { cwd: folder });
  expect(dead).toMatchObject({ code: 4, stderr: expect.stringContaining("exited with code 3") });
  const old = await runPortolan(["serve", "server.ts", "--era", "1999-01-01"], { cwd: folder });
  expect(old.code).toBeGreaterThan(0);
});
