import { spawn } from "node:child_process";
import { once } from "node:events";
import { get, request as httpRequest } from "node:http";
import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { pathTo, run } from "../examples/example.ts";
import { freePort } from "../kit/free-port.ts";

const program = pathTo("test/server/main-program.mjs");

/** Starts the program over HTTP; it is killed at the end of the test. */
async function serve(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program, "--http", "0", ...args], { env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const output = { stderr: "" };
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return { child, exited, output, url: /^Serving (http:\S+)\n$/.exec(line)?.[1] ?? line };
}

/** Posts a body with the client of node, and resolves to the status. */
function postWithNode(url: string, bytes: Uint8Array): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", headers: { ...posted, "content-length": bytes.length }, agent: false };
    const request = httpRequest(url, options, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
    request.on("error", reject).end(bytes);
  });
}

async function postWithFetch(url: string, bytes: Uint8Array<ArrayBuffer>): Promise<number> {
  const response = await fetch(url, { method: "POST", headers: posted, body: bytes });
  await response.text();
  return response.status;
}

const posted = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function greeted(target: Parameters<typeof connect>[0]): Promise<unknown> {
  const client = await connect(target);
  onTestFinished(() => client.close());
  return (await client.callTool("greet")).content;
}

/** Returns the status of a request with this Host header. */
async function statusFor(url: string, host: string): Promise<number | undefined> {
  const sent = get(url, { headers: { host } });
  const [response] = await once(sent, "response");
  response.resume();
  return response.statusCode;
}

test("a server runs over standard input and output by default", async () => {
  const target = { command: process.execPath, args: [program, "--loud", "Ada"] };
  expect(await greeted(target)).toEqual([{ type: "text", text: "HELLO ADA" }]);
});

test("over standard input and output an unhandled rejection is logged, and serving goes on", async () => {
  const lines: string[] = [];
  const onStderr = (line: string) => void lines.push(line);
  const client = await connect({ command: process.execPath, args: [program, "Ada"], onStderr });
  onTestFinished(() => client.close());
  const waiting = client.callTool("wait");
  await vi.waitUntil(() => lines.includes("waiting"));
  await client.callTool("forget", { what: "\u001b[2J\ngreeter: forged" });
  await vi.waitUntil(() => lines.some((line) => line.includes("forgotten by its author")));
  expect(lines.join("\n")).toContain(
    'greeter: a promise was rejected and not handled; calls in progress: tools/call "wait"',
  );
  await vi.waitUntil(() => lines.some((line) => line.includes("greeter: forged")));
  const text = lines.join("\n");
  expect(text).toContain("forgotten by its author\\u{1b}[2J\n  greeter: forged");
  await client.callTool("finish");
  expect((await waiting).content).toEqual([{ type: "text", text: "waited" }]);
});

describe("over HTTP", () => {
  test("it prints its URL and exits with 0 on SIGTERM", async () => {
    const { child, exited, url } = await serve(["--times", "2", "Ada"]);
    expect(await greeted(url)).toEqual([{ type: "text", text: "Hello AdaHello Ada" }]);
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("it answers running calls before it exits on %s", async (signal) => {
    // The call ends when the signal arrives.
    const { child, exited, url, output } = await serve(["--loud", "Ada"]);
    const client = await connect(url);
    onTestFinished(() => client.close());
    const running = client.callTool("wait");
    await vi.waitUntil(() => output.stderr.includes("waiting"));
    child.kill(signal);
    expect((await running).content).toEqual([{ type: "text", text: "waited" }]);
    expect(await exited).toEqual([0, null]);
  });

  test.each([
    ["SIGTERM", "SIGTERM", 143],
    ["SIGINT", "SIGTERM", 143],
    ["SIGTERM", "SIGINT", 130],
  ] as const)("it exits at once on %s followed by %s", async (first, second, code) => {
    const { child, exited, url, output } = await serve(["Ada"]);
    const client = await connect(url);
    onTestFinished(() => client.close());
    client.callTool("wait").catch(() => {});
    await vi.waitUntil(() => output.stderr.includes("waiting"));
    child.kill(first);
    // The server refuses new requests once it has seen the first signal.
    await vi.waitUntil(async () => (await fetch(url)).status === 503);
    child.kill(second);
    expect(await exited).toEqual([code, null]);
  });

  test("it logs an unhandled rejection with the calls in progress and goes on serving", async () => {
    const { url, output } = await serve(["Ada"]);
    const client = await connect(url);
    onTestFinished(() => client.close());
    const waiting = client.callTool("wait");
    await vi.waitUntil(() => output.stderr.includes("waiting"));
    await client.callTool("forget");
    await vi.waitUntil(() => output.stderr.includes("forgotten by its author"));
    expect(output.stderr).toContain(
      'greeter: a promise was rejected and not handled; calls in progress: tools/call "wait"',
    );
    await client.callTool("finish");
    expect((await waiting).content).toEqual([{ type: "text", text: "waited" }]);
  });

  describe.each([
    ["the client of node", postWithNode],
    ["fetch", postWithFetch],
  ])("a body above the limit that %s sends", (_, post) => {
    test.each([5, 20, 50])("is answered 413 at %i MB, and the connection is not reset", async (megabytes) => {
      const { url } = await serve(["Ada"]);
      const bytes = new Uint8Array(megabytes * 1_000_000).fill(120);
      for (let count = 0; count < 3; count += 1) expect(await post(url, bytes)).toBe(413);
    });
  });

  test("it refuses requests without the configured token", async () => {
    const { url } = await serve(["Ada"], { PORTOLAN_TOKEN: "open sesame" });
    for (const token of ["", "open sesam", "open sesame!"]) {
      const link = http(url, { headers: { authorization: `Bearer ${token}` } });
      await expect(connect(link)).rejects.toThrow("answered 401");
    }
    const headers = { authorization: "Bearer open sesame" };
    expect(await greeted(http(url, { headers }))).toEqual([{ type: "text", text: "Hello Ada" }]);
  });

  test("it serves HTTP+SSE only with --sse", async () => {
    const accept = { accept: "text/event-stream" };
    const plain = await serve(["Ada"]);
    expect((await fetch(new URL("/sse", plain.url), { headers: accept })).status).toBe(404);
    const { url } = await serve(["--sse", "Ada"]);
    const opened = await fetch(new URL("/sse", url), { headers: accept });
    expect([opened.status, opened.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    await opened.body?.cancel();
    expect(await greeted(url)).toEqual([{ type: "text", text: "Hello Ada" }]);
  });

  test("it allows web pages only of the origins of --allow-origin", async () => {
    const allowed = ["https://app.example.com", "http://localhost:3000"];
    const { url } = await serve([...allowed.flatMap((origin) => ["--allow-origin", origin]), "Ada"]);
    const from = async (origin: string) => {
      const method = { "access-control-request-method": "POST" };
      const response = await fetch(url, { method: "OPTIONS", headers: { origin, ...method } });
      return [response.status, response.headers.get("access-control-allow-origin")];
    };
    for (const origin of allowed) expect(await from(origin)).toEqual([204, origin]);
    expect(await from("https://evil.example")).toEqual([403, null]);
  });

  test.each([
    ["a fixed port", freePort, []],
    ["a free port", async () => 0, []],
    ["another loopback address", async () => 0, ["--host", "127.0.0.2"]],
  ])("it accepts the Host headers of --allow-host and of this machine on %s", async (_, choose, flags) => {
    const given = String(await choose());
    const { url } = await serve(["--http", given, ...flags, "--allow-host", "mcp.example.com", "Ada"]);
    const { host, port } = new URL(url);
    for (const allowed of ["mcp.example.com", `localhost:${port}`, host]) {
      expect(await statusFor(url, allowed), allowed).not.toBe(403);
    }
    for (const other of ["evil.example", "localhost:1"]) expect(await statusFor(url, other), other).toBe(403);
    expect(await greeted(url)).toEqual([{ type: "text", text: "Hello Ada" }]);
  });
});

test.each<[string[], string]>([
  [["--nonsense"], "--nonsense"],
  [[], "expected a name, got none"],
  [["--times", "many", "Ada"], '--times: expected a whole number, got "many"'],
  [["--http", "-1", "Ada"], "--http"],
  [["--sse", "Ada"], "--sse needs --http <port>"],
  [["--host", "127.0.0.1", "Ada"], "--host needs --http <port>"],
  [["--http", "0", "--host", "0.0.0.0", "Ada"], "--host 0.0.0.0: others could use this server without a token"],
  [["--allow-origin", "https://app.example.com", "Ada"], "--allow-origin needs --http <port>"],
  [["--http", "0", "--allow-origin", "*", "Ada"], "--allow-origin: expected an origin such as https://app.example.com"],
  [["--http", "0", "--allow-origin", "https://a.example/page", "Ada"], "--allow-origin: expected an origin"],
  [["--http", "0", "--allow-host", "https://mcp.example.com", "Ada"], "--allow-host: expected a host"],
])("%j exits with 2 and a usage error", async (args, what) => {
  const { code, stdout, stderr } = await run(program, args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(what);
  expect(stderr).toMatch(/^greeter: .*; see greeter --help\n$/);
});

test("an error is printed in one line and exits with 1", async () => {
  const { code, stderr } = await run(program, ["nobody"]);
  expect([code, stderr]).toEqual([1, "greeter: nobody cannot be greeted\n"]);
});

test("--help and --version print and exit without serving", async () => {
  expect(await run(program, ["--version"])).toMatchObject({ code: 0, stdout: "greeter 1.2.3\n" });
  const { code, stdout } = await run(program, ["-h"]);
  expect(code).toBe(0);
  expect(stdout.split("\n").slice(0, 5)).toEqual([
    "Greets people",
    "",
    "Usage: greeter [flags] <name>...",
    "",
    `  ${"-l, --loud".padEnd("    --allow-origin <origin>".length)}  in capitals`,
  ]);
  expect(stdout.split("\n").slice(-5)).toEqual([
    "",
    "Environment:",
    "  GREETING        the first word",
    "  PORTOLAN_TOKEN  with --http: the token that callers must send",
    "",
  ]);
});
