import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { pathTo } from "../examples/example.ts";

test("a handshake whose part cannot be loaded gets an error, and stateless calls are answered", async () => {
  const limited = 'ulimit -n 200 && exec "$0" "$@"';
  const child = spawn("sh", ["-c", limited, process.execPath, pathTo("test/server/missing-part.mjs")]);
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await once(child.stderr, "data");
  const ask = async (id: number, method: string, params: object) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return JSON.parse((await lines.next()).value ?? "null");
  };
  const clientInfo = { name: "test", version: "1.0.0" };
  const handshake = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  expect(await ask(1, "initialize", handshake)).toMatchObject({ id: 1, error: { code: -32603 } });
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": clientInfo,
  };
  const call = await ask(2, "tools/call", { name: "echo", arguments: {}, _meta });
  expect(call).toMatchObject({ id: 2, result: { content: [{ type: "text", text: "hi" }] } });
});
