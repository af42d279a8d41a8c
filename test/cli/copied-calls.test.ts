import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { serveHttp } from "portolan/server/http";
import { type CallToRender, renderCall } from "portolan-recording";
import { expect, onTestFinished, test } from "vitest";
import createFullServer from "../kit/full-server.mjs";
import { environment, portolan } from "./kit.ts";
import { makeProject } from "./make-kit.ts";
import { notes } from "./manage-kit.ts";

const node = process.execPath;
const args = { title: `it's "$HOME" \`x\``, text: "a\nb" };
const text = JSON.stringify({
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: { name: "add_note", arguments: args },
});
const near: CallToRender = { text, target: { command: node, args: [notes] } };

/** Runs a copied line in a shell that finds the command. */
function runLine(line: string, folder: string, env: { [name: string]: string } = {}) {
  const own = `portolan() { '${node}' '${portolan}' "$@"; }\n${line}`;
  return spawnSync("/bin/sh", ["-c", own], { cwd: folder, env: environment(folder, env), encoding: "utf8", input: "" });
}

/** Runs a copied program beside the library. */
function runProgram(program: string, folder: string, env: { [name: string]: string } = {}) {
  const file = join(folder, "copied.mjs");
  writeFileSync(file, program);
  return spawnSync(node, [file], { cwd: folder, env: environment(folder, env), encoding: "utf8" });
}

test.each(["2024-11-05", "2025-06-18", "2026-07-28"])("a copied program makes the same call on %s", (revision) => {
  const { status, stdout, stderr } = runProgram(renderCall({ ...near, revision }, "typescript"), makeProject({}));
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ content: [{ type: "text" }] });
});

test("a copied command makes the same call", () => {
  const { status, stdout } = runLine(renderCall(near, "command"), makeProject({}));
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ content: [{ type: "text" }] });
});

test("a copied pipe makes its handshake and the same call", () => {
  const { stdout } = runLine(renderCall({ ...near, revision: "2025-06-18" }, "curl"), makeProject({}));
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id?: unknown; result?: object });
  expect(answers.find(({ id }) => id === 7)?.result).toMatchObject({ content: [{ type: "text" }] });
});

test("a copied program and a copied command send a header whose value only the environment has", async () => {
  const seen: (string | undefined)[] = [];
  const serving = serveHttp(createFullServer());
  onTestFinished(() => serving.close());
  const server = createServer((request, response) => {
    seen.push(request.headers["x-api-key"] as string | undefined);
    serving.node(request, response);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
  const call: CallToRender = {
    text: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    target: { url, headers: { "x-api-key": "…" } },
  };
  const run = (words: readonly string[], folder: string) =>
    new Promise<number | null>((resolve) => {
      const env = environment(folder, { X_API_KEY: "hunter2" });
      spawn(words[0] ?? "", words.slice(1), { cwd: folder, env, stdio: "ignore" }).on("close", resolve);
    });
  const folder = makeProject({});
  writeFileSync(join(folder, "copied.mjs"), renderCall(call, "typescript"));
  expect(await run([node, "copied.mjs"], folder)).toBe(0);
  const line = `portolan() { '${node}' '${portolan}' "$@"; }\n${renderCall(call, "command")}`;
  expect(await run(["/bin/sh", "-c", line], folder)).toBe(0);
  expect(new Set(seen)).toEqual(new Set(["hunter2"]));
});
