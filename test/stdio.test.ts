import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "portolan";
import { createServer } from "portolan/server";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ChildChannel, connectMemory, connectStdio, metaKey, RawPeer, type RawPeerOptions } from "./kit/raw-peer.ts";
import { stateful } from "./kit/revisions.ts";

const fullServer = new URL("./kit/full-server.mjs", import.meta.url);
const wireServer = new URL("./requirements/servers/wire.mjs", import.meta.url);
const busyServer = new URL("./requirements/servers/busy.mjs", import.meta.url);
const session: RawPeerOptions = { revision: "2025-11-25" };
const statelessMeta = { [metaKey("protocolVersion")]: "2026-07-28", [metaKey("clientCapabilities")]: {} };

const children: ChildChannel[] = [];

afterEach(() => {
  for (const { child } of children.splice(0)) child.kill("SIGKILL");
});

async function start(server: URL, options: RawPeerOptions = session, env: Record<string, string> = {}) {
  const peer = await connectStdio(server, options, env);
  children.push(peer.channel);
  return peer;
}

/** Returns the arguments of node for a program that calls `serveStdio` itself. */
function evaluating(source: string): string[] {
  const head = 'import { createServer } from "portolan/server"; import { serveStdio } from "portolan/server/stdio";';
  return ["--input-type=module", "--eval", `${head}\n${source}`];
}

/** Runs a program that calls `serveStdio` itself. */
async function startProgram(source: string, options: RawPeerOptions = session) {
  const channel = new ChildChannel(process.execPath, evaluating(source));
  children.push(channel);
  return Object.assign(await new RawPeer(channel, options).start(), { channel });
}

function line(message: JsonObject): string {
  return `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
}

describe("the order of messages", () => {
  const marking = `
    let marks = 0;
    serveStdio(createServer({ name: "s", version: "1" })
      .notification("own/mark", () => { marks += 1; })
      .tool("marks", { run: () => String(marks) }));
  `;

  test("the first notifications are handled before the request that follows them", async () => {
    const peer = await startProgram(marking);
    const mark = line({ method: "own/mark" });
    const answered = peer.responseTo(7);
    peer.channel.write(`${mark}${mark}${line({ id: 7, method: "tools/call", params: { name: "marks" } })}`);
    expect((await answered).result.content).toEqual([{ type: "text", text: "2" }]);
    await peer.close();
  });

  test("requests that wait for an earlier message are answered although the input ends with them", async () => {
    const peer = await startProgram(marking, { ...session, handshake: false });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    const call = line({ id: 8, method: "tools/call", params: { name: "marks" } });
    peer.channel.write(`${line({ id: 7, method: "initialize", params })}${line({ method: "own/mark" })}${call}`);
    peer.channel.child.stdin.end();
    expect(await peer.channel.exited).toBe(0);
    const answers = peer.transcript.filter((text) => text.startsWith("< ")).map((text) => JSON.parse(text.slice(2)));
    expect(answers.map(({ id }) => id)).toEqual([7, 8]);
    expect(answers[1].result.content).toEqual([{ type: "text", text: "1" }]);
  });
});

describe("requests in flight", () => {
  const holding = `
    let release = () => {};
    const released = new Promise((resolve) => { release = resolve; });
    serveStdio(createServer({ name: "s", version: "1" })
      .tool("hold", { run: ({ isDeaf }, { signal }) => new Promise((resolve, reject) => {
        released.then(() => resolve("held"));
        if (!isDeaf) signal.addEventListener("abort", () => reject(signal.reason));
      }) })
      .tool("release", { run: () => { release(); return "released"; } }));
  `;

  async function startInMemory() {
    let resolve = () => {};
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    const server = createServer({ name: "s", version: "1" })
      .tool("hold", {
        run: ({ isDeaf }, { signal }) =>
          new Promise<string>((done, reject) => {
            promise.then(() => done("held"));
            if (!isDeaf) signal.addEventListener("abort", () => reject(signal.reason));
          }),
      })
      .tool("release", {
        run: () => {
          resolve();
          return "released";
        },
      });
    return connectMemory(server, session);
  }

  test.each([
    ["stdio", () => startProgram(holding)],
    ["memory", startInMemory],
  ])("are refused above 64 MiB until some have ended (%s)", async (_, open) => {
    const peer = await open();
    const call = (name: string, id: string, args = {}) => peer.request("tools/call", { name, arguments: args }, id);
    const large = { filler: "x".repeat(15_000_000) };
    const held = ["a", "b", "c"].map((id) => call("hold", id, large));
    held.push(call("hold", "d", { ...large, isDeaf: true }));
    void call("hold", "e", large);
    const refusal = { code: -31429, message: expect.stringContaining("67108864 bytes") };
    expect((await call("release", "f1")).error).toMatchObject(refusal);
    // A handler that ignores its signal keeps its request in memory.
    peer.notify("notifications/cancelled", { requestId: "d" });
    expect((await call("release", "f2")).error).toMatchObject(refusal);
    peer.notify("notifications/cancelled", { requestId: "e" });
    let released = await call("release", "g");
    for (let n = 1; released.error; n++) released = await call("release", `g${n}`);
    expect(released.result.content).toEqual([{ type: "text", text: "released" }]);
    for (const answer of await Promise.all(held.slice(0, 3))) {
      expect(answer.result.content).toEqual([{ type: "text", text: "held" }]);
    }
    expect((await call("hold", "h", large)).result.content).toEqual([{ type: "text", text: "held" }]);
    await peer.close();
  });
});

describe("standard output", () => {
  test("output of modules and handlers after serveStdio goes to standard error", async () => {
    const peer = await startProgram(`
      serveStdio(createServer({ name: "s", version: "1" }).tool("t", { run() { console.log("from a handler"); return "ok"; } }));
      await import("data:text/javascript,console.log('a banner'); process.stdout.write('{\\"jsonrpc\\":\\"2.0\\"}\\\\n')");
    `);
    expect((await peer.callTool("t")).result.content).toEqual([{ type: "text", text: "ok" }]);
    await peer.close();
    expect(peer.channel.stderr).toContain("a banner");
    expect(peer.channel.stderr).toContain('{"jsonrpc":"2.0"}');
    expect(peer.channel.stderr).toContain("from a handler");
    expect(peer.transcript.filter((text) => text.startsWith("< "))).toHaveLength(2);
  });

  test("a client that closes it ends the server without an error message", async () => {
    const peer = await start(fullServer);
    peer.channel.child.stdout.destroy();
    for (let id = 100; id < 110; id += 1) peer.channel.write(line({ id, method: "tools/list" }));
    expect(await peer.channel.exited).toBe(0);
    expect(peer.channel.stderr).toBe("");
  });

  test("a client that disconnects without reading does not keep the server running", async () => {
    const peer = await start(wireServer);
    peer.channel.child.stdout.pause();
    peer.channel.write(
      line({ id: "big", method: "tools/call", params: { name: "any", arguments: { text: "x".repeat(8_000_000) } } }),
    );
    peer.channel.child.stdin.end();
    expect(await peer.channel.exited).toBe(0);
  });

  test("a client that leaves 60 answers of 10 MB unread gets errors for most of them, and the server stays small", async () => {
    const peer = await startProgram(`
      const text = "x".repeat(10_000_000);
      let calls = 0;
      serveStdio(createServer({ name: "s", version: "1" })
        .tool("large", { run() { calls += 1; if (calls === 60) console.error("answered all"); return text; } })
        .tool("rss", { run: () => String(process.resourceUsage().maxRSS) }));
    `);
    peer.channel.child.stdout.pause();
    const answers = Array.from({ length: 60 }, () => peer.callTool("large"));
    await vi.waitUntil(() => peer.channel.stderr.includes("answered all"), { timeout: 20_000 });
    peer.channel.child.stdout.resume();
    const received = await Promise.all(answers);
    const refused = received.filter(({ error }) => error?.code === -31429);
    expect(refused.length).toBeGreaterThan(45);
    expect(received.filter(({ result }) => result).length).toBe(60 - refused.length);
    const kilobytes = Number((await peer.callTool("rss")).result.content[0].text);
    expect(kilobytes).toBeLessThan(700_000);
  });

  test("a large answer is written completely before the server exits", async () => {
    const peer = await start(wireServer);
    const text = "é".repeat(3_000_000);
    const response = peer.request("tools/call", { name: "any", arguments: { text } });
    peer.channel.child.stdin.end();
    expect(JSON.parse((await response).result.content[0].text)).toEqual({ text });
    expect(await peer.channel.exited).toBe(0);
  });
});

test("a server whose input is a file answers every line, broken ones too, and exits", () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-stdio-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "requests.txt");
  writeFileSync(
    file,
    `${line({ id: 1, method: "ping" })}{"id":2,"broken\n${line({ id: 3, method: "ping" })}{"id":4,"cut`,
  );
  const input = openSync(file, "r");
  onTestFinished(() => closeSync(input));
  const { status, stdout } = spawnSync(
    process.execPath,
    evaluating(`serveStdio(createServer({ name: "s", version: "1" }).tool("a", { run: () => "" }))`),
    {
      stdio: [input, "pipe", "inherit"],
    },
  );
  const answers = String(stdout)
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text) as { id: number; error?: object });
  expect(answers.map(({ id, error }) => [id, error !== undefined]).sort()).toEqual([
    [1, false],
    [2, true],
    [3, false],
    [4, true],
  ]);
  expect(status).toBe(0);
});

test("a client that closes standard error is still served", async () => {
  const peer = await start(wireServer);
  peer.channel.child.stderr.destroy();
  for (let count = 0; count < 5; count += 1)
    expect((await peer.callTool("noise")).result.content[0].text).toContain("one");
  await peer.close();
  expect(await peer.channel.exited).toBe(0);
});

describe("the end of standard input", () => {
  test("ends the process although a timer is active and a call never ends", async () => {
    const peer = await start(busyServer);
    peer.request("tools/call", { name: "never" });
    await peer.settled();
    peer.channel.child.stdin.end();
    expect(await peer.channel.exited).toBe(0);
    expect(peer.channel.stderr).toBe("");
  });

  test("ends a call that waits for an answer of the client", async () => {
    const peer = await start(fullServer, { ...session, capabilities: { roots: {} } });
    peer.request("tools/call", { name: "ask_roots" });
    await peer.until(({ questions }) => questions[0]);
    peer.channel.child.stdin.end();
    expect(await peer.channel.exited).toBe(0);
  });

  test("does not lose a last line without its newline", async () => {
    const peer = await start(fullServer);
    const response = peer.responseTo("last");
    peer.channel.write(line({ id: "last", method: "ping" }).trimEnd());
    peer.channel.child.stdin.end();
    expect((await response).result).toEqual({});
    expect(await peer.channel.exited).toBe(0);
  });

  test("before the first message ends the process", async () => {
    const peer = await start(fullServer, { revision: "2026-07-28" });
    peer.channel.child.stdin.end();
    expect(await peer.channel.exited).toBe(0);
    expect(peer.transcript).toEqual([]);
  });
});

describe("signals", () => {
  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("%s answers running calls and exits with 0", async (signal) => {
    const peer = await start(busyServer);
    const running = peer.request("tools/call", { name: "wait", arguments: { ms: 100 } });
    await peer.settled();
    peer.channel.child.kill(signal);
    expect((await running).result.content[0].text).toBe("waited");
    expect(await peer.channel.exited).toBe(0);
    expect(peer.channel.stderr).toBe("");
  });

  test("a second signal exits without waiting", async () => {
    const peer = await startProgram(`
      serveStdio(createServer({ name: "s", version: "1" }).tool("never", { run: () => new Promise(() => {}) }), { graceMs: 3_600_000 });
    `);
    peer.request("tools/call", { name: "never" });
    await peer.settled();
    peer.channel.child.kill("SIGTERM");
    await peer.settled();
    peer.channel.child.kill("SIGTERM");
    expect(await peer.channel.exited).toBe(0);
  });
});

describe("standard input", () => {
  test("reads both eras from one stream, byte by byte, between garbage, blank lines and different line ends", async () => {
    const peer = await start(fullServer, { ...session, handshake: false });
    const ids = ["init", "old", "new", "last"];
    const responses = ids.map((id) => peer.responseTo(id));
    const echo = { name: "echo", arguments: { message: "Zürich 東京 🗺️" } };
    const text = [
      "\ufeff",
      "\r\n",
      line({
        id: "init",
        method: "initialize",
        params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "é", version: "1" } },
      }),
      "Content-Length: 20\r\n\r\n",
      "GET / HTTP/1.1\n",
      line({ id: "old", method: "tools/call", params: echo }).replace("\n", "\r\n"),
      "Debugger attached.\n",
      'INFO {"jsonrpc":"2.0","id":"hidden","method":"ping"}\n',
      "\t \n",
      line({ id: "new", method: "tools/call", params: { ...echo, _meta: statelessMeta } }),
      '"text"\n12\ntrue\nnull\nundefined\n',
      line({ id: "last", method: "ping" }),
    ].join("");
    for (const byte of new TextEncoder().encode(text)) peer.channel.write(Uint8Array.of(byte));
    const [init, old, stateless, last] = await Promise.all(responses);
    expect(init?.result.protocolVersion).toBe("2025-03-26");
    expect(old?.result).toEqual({ content: [{ type: "text", text: "Zürich 東京 🗺️" }] });
    expect(stateless?.result).toMatchObject({ resultType: "complete", content: [{ text: "Zürich 東京 🗺️" }] });
    expect(last?.result).toEqual({});
    await peer.settled();
    expect(peer.strays).toEqual([]);
  });

  test("refuses a message above the default limit with its id, and reads a large one below it in small chunks", async () => {
    const peer = await start(wireServer);
    const refused = peer.responseTo("too long");
    peer.channel.write(
      line({
        method: "tools/call",
        params: { name: "any", arguments: { text: "x".repeat(17 * 1024 * 1024) } },
        id: "too long",
      }),
    );
    expect((await refused).error).toMatchObject({ code: -32600, message: expect.stringContaining("too large") });
    const bytes = Buffer.from(
      line({
        id: "large",
        method: "tools/call",
        params: { name: "polluted", arguments: { text: "x".repeat(8_000_000) } },
      }),
    );
    const response = peer.responseTo("large");
    for (let at = 0; at < bytes.length; at += 4096) peer.channel.write(bytes.subarray(at, at + 4096));
    expect((await response).result.content[0].text).toContain('"keys":["text"]');
    expect(peer.strays).toEqual([]);
  });

  test("serves handshakes of all stateful revisions, one after the other, beside stateless requests", async () => {
    const peer = await start(fullServer, { ...session, handshake: false });
    for (const protocolVersion of stateful) {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: protocolVersion, version: "1" } };
      expect((await peer.request("initialize", params)).result.protocolVersion).toBe(protocolVersion);
      const [old, stateless] = await Promise.all([
        peer.request("tools/call", { name: "add", arguments: { a: 1, b: 2 } }),
        peer.request("tools/call", { name: "add", arguments: { a: 1, b: 2 }, _meta: statelessMeta }),
      ]);
      expect(old.result.structuredContent).toEqual(protocolVersion < "2025-06-18" ? undefined : { sum: 3 });
      expect(old.result).not.toHaveProperty("resultType");
      expect(stateless.result).toMatchObject({ resultType: "complete", structuredContent: { sum: 3 } });
    }
  });
});
