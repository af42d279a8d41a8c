import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Client, type ConnectOptions, connect } from "portolan/client";
import { createServer as createMcpServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../kit/revisions.ts";
import { portolan, root, runPortolan } from "./kit.ts";
import { makeProject, startPortolan } from "./make-kit.ts";
import { startPortolan as startCommand } from "./manage-kit.ts";

const leaky = join(root, "test/cli/fixtures/leaky.mjs");
const secret = 'S3cret/päss "word"+9';
const node = process.execPath;

/** Returns a text with its decoded base64. */
function meaningOf(text: string): string {
  const encoded = text.match(/[A-Za-z\d+/_-]{12,}/g) ?? [];
  return [text, ...encoded.map((run) => Buffer.from(run, "base64").toString())].join("\n");
}

function expectNoSecret(text: string, ...secrets: string[]) {
  for (const each of secrets) {
    const bytes = Buffer.from(each);
    const forms = [each, JSON.stringify(each).slice(1, -1), encodeURIComponent(each), bytes.toString("hex")];
    for (const form of forms) expect(meaningOf(text)).not.toContain(form);
  }
}

const options = (era: string): ConnectOptions => ({
  era,
  answers: { elicit: () => ({ action: "accept", content: { passphrase: "answer-pass-77" } }) },
});

/** Lets the server send all its secrets. Returns what it sent. */
async function sayAll(client: Client, hows: readonly string[]): Promise<unknown[]> {
  const said: unknown[] = [await client.listTools()];
  for (const how of hows) said.push(await client.callTool("say", { how, password: "argument-pass-1" }));
  said.push(await client.callTool("fail"));
  said.push(await client.readResource("file:///.env"));
  said.push(await client.callTool("ask").catch((reason) => reason.message));
  return said;
}

const hows = ["plain", "base64", "url", "hex", "json", "arguments", "echo", "key"];
const ownSecrets = ["argument-pass-1", "default-pass-1", "file-token-123", "two words inside", "words inside"];
const askedSecrets = ["answer-pass-77", "log-token-1"];

describe.each(revisions)("a recording on %s", (revision) => {
  test("of a command contains no secret, and still acts as its server", async () => {
    const folder = makeProject();
    const file = join(folder, "x.jsonl");
    const command = [node, leaky, "--api-key", "argv-key-4242"];
    const client = await connect(
      {
        command: node,
        args: [portolan, "record", "--out", file, "--", ...command],
        cwd: folder,
        env: { VAULT_PASSWORD: secret },
      },
      options(revision),
    );
    const said = await sayAll(client, hows);
    await client.close();
    expect(JSON.stringify(said)).toContain(JSON.stringify(secret).slice(1, -1));
    const text = readFileSync(file, "utf8");
    expectNoSecret(text, secret, "argv-key-4242", ...ownSecrets, ...askedSecrets);
    expect(text).toContain('"properties":{"how":{"type":"string"},"password":{"type":"string"');

    const mock = await connect({ command: node, args: [portolan, "serve-recording", file] }, options(revision));
    const again = await sayAll(mock, hows);
    await mock.close();
    expect(again.length).toBe(said.length);
    expect(JSON.stringify(again)).toContain("it is [redacted], plainly");
    expect(JSON.stringify(again)).not.toContain("recording has no");
  });

  test("of an address contains neither headers nor query", async () => {
    const folder = makeProject();
    const child = spawn(node, [leaky, "--http"], { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void child.kill());
    const [origin] = await once(createInterface({ input: child.stdout }), "line");
    const token = "opaque/Token-99+zz";
    const url = `${origin}/${revision === "2024-11-05" ? "sse" : "mcp"}?api_key=query-key-31337`;
    const server = { url, headers: { Authorization: `Bearer ${token}` } };
    writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { far: server } }));
    expect(await runPortolan(["trust", "far", "--yes"], { cwd: folder })).toMatchObject({ code: 0 });
    const file = join(folder, "far.jsonl");
    const client = await connect(
      {
        command: node,
        args: [portolan, "record", "far", "--out", file],
        cwd: folder,
        env: { HOME: folder, PORTOLAN_HOME: join(folder, ".portolan") },
      },
      options(revision),
    );
    const said = await sayAll(client, hows.slice(0, 4));
    await client.close();
    expect(JSON.stringify(said)).toContain(token);
    expectNoSecret(readFileSync(file, "utf8"), token, "query-key-31337", ...ownSecrets, ...askedSecrets);
    const mock = await connect({ command: node, args: [portolan, "serve-recording", file] }, options(revision));
    const again = await sayAll(mock, hows.slice(0, 4));
    await mock.close();
    expect(JSON.stringify(again)).toContain("it is [redacted], plainly");
  });

  test("serves its file, its configuration entry and HTTP clients", async () => {
    const folder = makeProject();
    const env = { VAULT_PASSWORD: secret };
    const file = join(folder, "x.jsonl");
    const client = await connect(
      { command: node, args: [portolan, "record", "--out", file, "--", node, leaky], cwd: folder, env },
      options(revision),
    );
    const tools = await client.listTools();
    await client.callTool("say", { how: "plain" });
    await client.close();
    const plain = { stdout: expect.stringContaining("it is [redacted], plainly"), code: 0 };
    const call = ["say", "how=plain"];
    expect(await runPortolan(["call", "x.jsonl", ...call], { cwd: folder })).toMatchObject(plain);
    await runPortolan(["add", "mock", "--", node, portolan, "serve-recording", file], { cwd: folder });
    expect(await runPortolan(["call", "mock", ...call], { cwd: folder })).toMatchObject(plain);
    const serving = startPortolan(["serve", "x.jsonl", "--http", "0"], folder);
    try {
      const { url } = await serving.event("ready");
      expect(await runPortolan(["call", String(url), ...call], { cwd: folder })).toMatchObject(plain);
      const listed = await runPortolan(["ls", String(url)], { cwd: folder });
      expect(JSON.parse(listed.stdout).tools).toHaveLength(tools.length);
    } finally {
      await serving.end();
    }
  });
});

test("no recording contains a token of a sign-in", async () => {
  const folder = makeProject();
  const token = "signed-in-Token/42";
  const json = { "content-type": "application/json" };
  let shown = "";
  const serving = serveHttp(
    createMcpServer({ name: "far", version: "1" }).tool("leak", { run: () => `${shown} and ${btoa(shown)}` }),
  );
  onTestFinished(() => serving.close(0));
  const site = createServer((request, response) => {
    const origin = `http://${request.headers.host}`;
    const path = request.url?.split("?")[0] ?? "";
    const pages: { [path: string]: object } = {
      "/.well-known/oauth-protected-resource/mcp": { resource: `${origin}/mcp`, authorization_servers: [origin] },
      "/.well-known/oauth-authorization-server": {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      },
      "/token": { access_token: token, token_type: "Bearer", expires_in: 3600 },
    };
    if (pages[path]) response.writeHead(200, json).end(JSON.stringify(pages[path]));
    else if (path === "/register") {
      request.setEncoding("utf8").once("data", (text: string) => {
        response.writeHead(201, json).end(JSON.stringify({ ...JSON.parse(text), client_id: "me" }));
      });
    } else if (path === "/authorize") {
      const asked = new URL(request.url ?? "", origin).searchParams;
      const back = new URL(asked.get("redirect_uri") ?? "");
      back.searchParams.set("code", "one-time");
      back.searchParams.set("state", asked.get("state") ?? "");
      response.writeHead(302, { location: back.href }).end();
    } else if (request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    } else {
      shown = token;
      serving.node(request, response);
    }
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  onTestFinished(() => {
    site.closeAllConnections();
    site.close();
  });
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/mcp`;
  const env = { PORTOLAN_HOME: join(folder, "state") };
  const login = startCommand(["login", url, "--no-browser"], { cwd: folder, env });
  const { headers } = await fetch(await login.until(/^https?:\/\//), { redirect: "manual" });
  login.child.stdin.end(`${headers.get("location")}\n`);
  expect(await login.ended).toBe(0);
  const called = await runPortolan(["call", url, "leak", "--record", "far.jsonl"], { cwd: folder, env });
  expect(called).toMatchObject({ code: 0, stdout: expect.stringContaining(token) });
  const text = readFileSync(join(folder, "far.jsonl"), "utf8");
  expect(text).toContain("[redacted] and ");
  expectNoSecret(text, token);
});

test("redacts a secret found late, however the recorder ends", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const folder = makeProject({ "cat.mjs": "process.stdin.pipe(process.stdout);" });
    const running = startCommand(["record", "--out", "x.jsonl", "--", node, "cat.mjs"], { cwd: folder });
    const say = (params: object) =>
      running.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "a", params })}\n`);
    say({ text: "first late-Secret-1" });
    await running.until(/first/);
    say({ last: true, password: "late-Secret-1" });
    await running.until(/last/);
    running.child.kill(signal);
    await running.ended;
    const text = readFileSync(join(folder, "x.jsonl"), "utf8");
    expect(text).toContain("first [redacted]");
    expect(text).not.toContain("late-Secret-1");
  }
});

test("redacts a secret in chunks, and makes an existing file private", async () => {
  const folder = makeProject({ "cat.mjs": "process.stdin.pipe(process.stdout);" });
  const file = join(folder, "x.jsonl");
  writeFileSync(file, '{"recording":1,"by":"old"}\n');
  chmodSync(file, 0o644);
  const child = spawn(node, [portolan, "record", "--out", file, "--", node, "cat.mjs"], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: folder, MY_TOKEN: "split-token-123456" },
  });
  const said = Buffer.from('{"jsonrpc":"2.0","method":"a","params":{"text":"é split-token-123456 ü"}}\n');
  let heard = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    heard += chunk.length;
  });
  // Each byte is sent after the one before came back, so that every chunk is one byte.
  for (const [at, byte] of said.entries()) {
    child.stdin.write(Buffer.of(byte));
    await expect.poll(() => heard, { interval: 1, timeout: 10_000 }).toBe(at + 1);
  }
  child.stdin.end();
  await once(child, "close");
  const text = readFileSync(file, "utf8");
  expect(text.match(/é \[redacted\] ü/g)).toHaveLength(2);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
