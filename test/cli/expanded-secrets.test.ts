import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeHome } from "./kit.ts";
import { notes, put, runPortolan, stateOf } from "./manage-kit.ts";

const node = process.execPath;

const secret = "hunter2 and/or 7";
const env = { SECRET_KEY: secret };
const forms = [secret, encodeURIComponent(secret), encodeURI(secret)];

/** Starts an HTTP server that repeats the address of each request. Its first path segment is the status. */
async function startEcho(): Promise<string> {
  const server = createServer((request, response) => {
    const [, status = "404"] = (request.url ?? "").split("/");
    response.writeHead(Number(status) || 404, { "content-type": "text/plain" }).end(`no ${request.url}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function configure(): Promise<string> {
  const cwd = makeHome();
  const origin = await startEcho();
  const at = (status: number) => ({ type: "http", url: `${origin}/${status}/\${SECRET_KEY}?k=\${SECRET_KEY}` });
  put(cwd, ".mcp.json", {
    mcpServers: {
      missing: at(404),
      denied: at(401),
      forbidden: at(403),
      failing: at(500),
      unknown: { command: "no-such-program-${SECRET_KEY}", args: ["${SECRET_KEY}"] },
      nowhere: { command: node, cwd: "/nonexistent/${SECRET_KEY}" },
      ends: {
        command: node,
        args: ["-e", "console.error(process.env.A); process.exit(3)"],
        env: { A: "${SECRET_KEY}" },
      },
      works: { command: node, args: [notes, "--key", "${SECRET_KEY}"] },
    },
  });
  for (const name of ["missing", "denied", "forbidden", "failing", "unknown", "nowhere", "ends", "works"]) {
    expect((await runPortolan(["trust", name, "--yes"], { cwd, env })).code).toBe(0);
  }
  return cwd;
}

const ended = ["missing", "denied", "forbidden", "failing"];
const failed = ["unknown", "nowhere", "ends"];

test("no command prints a secret that took the place of a placeholder, and none is logged or recorded", async () => {
  const cwd = await configure();
  const lines = [
    ["servers"],
    ["doctor"],
    ...[...ended, ...failed].flatMap((name) => [
      ["ls", name],
      ["call", `${name}.x`],
      ["doctor", name],
    ]),
    ...ended.map((name) => ["logout", name]),
    ["login", "missing", "--no-browser"],
    ["check", "failing", "--revision", "2025-06-18"],
    ["check", "unknown", "--revision", "2025-06-18"],
    ["call", "works", "find_notes", "--record", "talk.jsonl"],
    ["serve", "ends", "--http", "0"],
    ["log"],
  ];
  for (const line of lines) {
    const { stdout, stderr } = await runPortolan(line, { cwd, env });
    const said = stdout + stderr;
    expect({ line, shown: forms.filter((form) => said.includes(form)) }).toEqual({ line, shown: [] });
    expect(said).not.toBe("");
  }
  for (const file of [join(cwd, "talk.jsonl"), join(stateOf(cwd), "activity.ndjson")]) {
    const text = readFileSync(file, "utf8");
    expect({ file, kept: forms.filter((form) => text.includes(form)) }).toEqual({ file, kept: [] });
  }
}, 120_000);

test("logout prints the address as the file has it", async () => {
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { a: { type: "http", url: "http://127.0.0.1:9/mcp?k=${SECRET_KEY}" } } });
  const { stdout } = await runPortolan(["logout", "a"], { cwd, env });
  expect(JSON.parse(stdout)).toEqual({
    server: "http://127.0.0.1:9/mcp?k=${SECRET_KEY}",
    wasSignedIn: false,
  });
});
