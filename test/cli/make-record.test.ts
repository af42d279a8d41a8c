import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "portolan/client";
import { describe, expect, test } from "vitest";
import { quickServer } from "../kit/quick-servers.mjs";
import { revisions } from "../kit/revisions.ts";
import { portolan, runPortolan } from "./kit.ts";
import { makeProject, root, weather } from "./make-kit.ts";

const everything = join(root, "packages/servers/everything/dist/main.js");
const sdk = quickServer(join(root, "test/peers/servers/sdk-v1.mjs"));

/** Returns the messages that a client received from a command, as text. */
async function converse(args: readonly string[], cwd: string, lines: readonly object[]) {
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const { stdout, stderr, code } = await runPortolan(args, { cwd, input });
  return { heard: stdout.split("\n").filter(Boolean), stderr, code };
}

/** Records a conversation of the library's client on a revision. */
async function record(folder: string, revision: string, server: readonly string[]) {
  const file = join(folder, `${revision}.jsonl`);
  const client = await connect(
    {
      command: process.execPath,
      args: [portolan, "record", "--out", file, "--", ...server],
      cwd: folder,
      env: { PORTOLAN_HOME: join(folder, ".portolan"), HOME: folder },
    },
    { era: revision },
  );
  return { client, file };
}

describe.each(revisions)("a conversation on %s", (revision) => {
  test("is recorded unchanged, and the recording answers like the server", async () => {
    const folder = makeProject(weather);
    const { client, file } = await record(folder, revision, [process.execPath, portolan, "serve-file", "server.ts"]);
    const tools = await client.listTools();
    const forecast = await client.callTool("forecast", { city: "Oslo" });
    await client.close();

    const mock = await connect(
      { command: process.execPath, args: [portolan, "serve-recording", file], cwd: folder },
      { era: revision },
    );
    expect(mock.server).toEqual(client.server);
    expect(await mock.listTools()).toEqual(tools);
    const steps: unknown[] = [];
    const again = await mock.callTool("forecast", { city: "Oslo" }, { onProgress: (step) => steps.push(step) });
    expect(again).toEqual(forecast);
    expect(steps).toMatchObject([{ progress: 1, total: 2 }]);
    await expect(mock.callTool("forecast", { city: "Rome" })).rejects.toThrow(
      /no tools\/call .*"Rome".*it has .*"Oslo"/,
    );
    await expect(mock.request("x/none")).rejects.toThrow(/has no x\/none; it has .*tools\/list/);
    await mock.close();
  });

  test("can be run again against the server, and differences are reported", async () => {
    const folder = makeProject(weather);
    const serve = [process.execPath, portolan, "serve-file", "server.ts"];
    const { client, file } = await record(folder, revision, serve);
    await client.callTool("forecast", { city: "Oslo" });
    await client.close();

    const same = await runPortolan(["replay", file, "--check", "--", ...serve], { cwd: folder });
    expect(same).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(same.stdout)).toMatchObject({ answers: 2, differences: [] });

    writeFileSync(join(folder, "highs.ts"), "export const highs: Record<string, number[]> = { Oslo: [40] };\n");
    const changed = await runPortolan(["replay", file, "--check", "--", ...serve], { cwd: folder });
    expect(changed.code).toBe(8);
    expect(JSON.parse(changed.stdout)).toEqual({
      request: "tools/call forecast",
      path: "result.content[0].text",
      recorded: "[4,6,5]",
      now: "[40]",
    });
    expect(JSON.parse(changed.stderr).error).toMatchObject({ kind: "protocol" });
  });
});

test("a recording answers byte for byte except ids", async () => {
  const folder = makeProject();
  const answer = '{"jsonrpc":"2.0","result":{"b":1.0,"a":"\\u00e9 , \\"id\\":7","10":[1e2 ,2]},  "id" : 7 }';
  const header = { recording: 1, by: "x", server: "x", startedAt: "2026-01-01T00:00:00Z", redacted: true };
  const request = { jsonrpc: "2.0", id: 7, method: "x/y", params: { q: { a: 1, b: 2 } } };
  writeFileSync(
    join(folder, "x.jsonl"),
    [
      JSON.stringify(header),
      `{"at":1,"from":"client","message":${JSON.stringify(request)}}`,
      `{"at":2,"from":"server","message":${answer}}`,
      '{"at":3,"from":"cl',
    ].join("\n"),
  );
  const { heard } = await converse(["serve-recording", "x.jsonl"], folder, [
    { jsonrpc: "2.0", id: "new", method: "x/y", params: { q: { b: 2, a: 1 }, _meta: { other: true } } },
  ]);
  expect(heard).toEqual([answer.replace('"id" : 7', '"id" :"new"')]);
});

test("a recorder forwards every byte unchanged", async () => {
  const folder = makeProject({
    "echo.mjs": `process.stdin.on("data", (chunk) => process.stdout.write(chunk)).on("end", () => process.stderr.write("bye"));`,
  });
  const input = '{ "jsonrpc":"2.0", "id":1.0,"method":"a" }\r\nno json\n{"x":"é\u2028"}';
  const { stdout, stderr, code } = await runPortolan(
    ["record", "--out", "all.jsonl", "--raw", "--", process.execPath, "echo.mjs"],
    { cwd: folder, input },
  );
  expect({ stdout, code }).toEqual({ stdout: input, code: 0 });
  expect(stderr).toContain("bye");
  const lines = readFileSync(join(folder, "all.jsonl"), "utf8").split("\n");
  expect(lines[1]).toMatch(/"from":"client","message":\{ "jsonrpc":"2.0", "id":1.0,"method":"a" \}\}$/);
  expect(lines.filter((line) => line.includes("no json"))).toEqual([]);
});

test("a recording contains secrets only with --raw, and is private", async () => {
  const folder = makeProject(weather);
  const args = ["call", "./server.ts", "forecast", "city=Oslo", "token=hunter2-secret"];
  expect(await runPortolan([...args, "--record", "clean.jsonl"], { cwd: folder })).toMatchObject({ code: 0 });
  expect(await runPortolan([...args, "--record", "raw.jsonl", "--raw"], { cwd: folder })).toMatchObject({ code: 0 });
  const clean = readFileSync(join(folder, "clean.jsonl"), "utf8");
  expect(clean).toContain('"token":"[redacted]"');
  expect(clean).not.toContain("hunter2");
  expect(readFileSync(join(folder, "raw.jsonl"), "utf8")).toContain("hunter2-secret");
  expect(statSync(join(folder, "clean.jsonl")).mode & 0o077).toBe(0);
  // The same request with the secret gets the same answer.
  const again = await runPortolan(["call", "clean.jsonl", ...args.slice(2)], { cwd: folder });
  expect(again).toMatchObject({ code: 0 });
  expect(JSON.parse(again.stdout)).toEqual({ content: [{ type: "text", text: "[4,6,5]" }] });
});

test("a recording can be listed and called, and names what it lacks", async () => {
  const folder = makeProject(weather);
  await runPortolan(["call", "./server.ts", "forecast", "city=Oslo", "--record", "w.jsonl"], { cwd: folder });
  const listed = await runPortolan(["ls", "w.jsonl"], { cwd: folder });
  expect(JSON.parse(listed.stdout)).toMatchObject({
    server: { info: { name: "weather" } },
    tools: [{ name: "forecast" }],
  });
  const unknown = await runPortolan(["call", "w.jsonl", "forecast", "city=Rome"], { cwd: folder });
  expect(unknown.code).toBe(2);
  expect(JSON.parse(unknown.stderr).error.message).toMatch(/recording has no tools\/call .*Rome.*it has .*Oslo/);
});

test("an official server answers, asks and is recorded behind a recorder", async () => {
  const folder = makeProject();
  const { code, stdout } = await runPortolan(
    ["ls", "--", process.execPath, portolan, "record", "--", process.execPath, sdk],
    {
      cwd: folder,
    },
  );
  expect(code).toBe(0);
  const { tools, server } = JSON.parse(stdout);
  expect(tools.length).toBeGreaterThan(0);
  const again = await runPortolan(["ls", "sdk-v1.jsonl"], { cwd: folder });
  expect(JSON.parse(again.stdout)).toMatchObject({ tools, server });
});

test("replays questions of a server and accepts answers", async () => {
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const folder = makeProject();
    const file = join(folder, "asked.jsonl");
    const options = {
      era: revision,
      answers: { elicit: () => ({ action: "accept" as const, content: {} }) },
    };
    const serve = [process.execPath, everything];
    const client = await connect(
      { command: process.execPath, args: [portolan, "record", "--out", file, "--", ...serve], cwd: folder },
      options,
    );
    const answer = await client.callTool("ask-yes", {});
    await client.close();
    const mock = await connect(
      { command: process.execPath, args: [portolan, "serve-recording", file], cwd: folder },
      options,
    );
    expect(await mock.callTool("ask-yes", {})).toEqual(answer);
    await mock.close();
    const checked = await runPortolan(["replay", file, "--check", "--", ...serve], { cwd: folder });
    expect(checked).toMatchObject({ code: 0, stderr: "" });
  }
});

test("records a server at an address for a client over stdio", async () => {
  const folder = makeProject({
    "http.mjs": `import { serveHttp } from "portolan/server/http";
import { createServer } from "portolan/server";
const server = createServer({ name: "far", version: "1" }).tool("hi", { run: () => "hello" });
const { url } = await serveHttp(server).listen(0);
console.log(url);`,
  });
  const { spawn } = await import("node:child_process");
  const child = spawn(process.execPath, ["http.mjs"], { cwd: folder });
  const url = await new Promise<string>((resolve) => child.stdout.once("data", (text) => resolve(String(text).trim())));
  try {
    for (const revision of revisions.slice(1)) {
      const file = join(folder, `far-${revision}.jsonl`);
      const client = await connect(
        { command: process.execPath, args: [portolan, "record", url, "--out", file], cwd: folder },
        { era: revision },
      );
      const said = await client.callTool("hi");
      expect(said.content).toEqual([{ type: "text", text: "hello" }]);
      await client.close();
      const again = await runPortolan(["replay", file, "--check", url], { cwd: folder });
      expect(again).toMatchObject({ code: 0 });
    }
  } finally {
    child.kill();
  }
});

test("replay shows a recording as a conversation", async () => {
  const folder = makeProject(weather);
  await runPortolan(["call", "./server.ts", "forecast", "city=Oslo", "--record", "w.jsonl"], { cwd: folder });
  const { stdout } = await runPortolan(["replay", "w.jsonl"], { cwd: folder });
  const { server, redacted, messages } = JSON.parse(stdout);
  expect({ server, redacted }).toEqual({ server: "server", redacted: true });
  expect(messages[0]).toMatchObject({ from: "client", message: { method: "server/discover" } });
});

test("refuses what is not a recording, a server or a file, with a reason", async () => {
  const folder = makeProject({ "no.jsonl": "{}\n" });
  const none = await runPortolan(["replay", "no.jsonl"], { cwd: folder });
  expect(none.code).toBe(2);
  expect(JSON.parse(none.stderr).error.message).toContain("is not a recording");
  const missing = await runPortolan(["record", "--", "no-such-program"], { cwd: folder });
  expect(missing.code).toBe(4);
  expect(missing.stderr).toContain("cannot start no-such-program");
  const broken = await runPortolan(["record", "--", process.execPath, "-e", "process.exit(3)"], { cwd: folder });
  expect(broken).toMatchObject({ code: 4, stderr: expect.stringContaining("exited with code 3") });
});

test("a file that is no recording is not overwritten; an earlier recording is", async () => {
  const folder = makeProject(weather);
  writeFileSync(join(folder, "precious.txt"), "precious\n");
  const call = (file: string) =>
    runPortolan(["call", "./server.ts", "forecast", "city=Oslo", "--record", file], { cwd: folder });
  const { code, stderr } = await call("precious.txt");
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("exists and is not a recording") });
  expect(readFileSync(join(folder, "precious.txt"), "utf8")).toBe("precious\n");
  expect(await call("again.jsonl")).toMatchObject({ code: 0 });
  expect(await call("again.jsonl")).toMatchObject({ code: 0 });
});
