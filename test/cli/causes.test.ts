import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { makeHome, runPortolan } from "./kit.ts";

/** A stdio server whose tool fails with this JSON-RPC error. */
function failingWith(code: number, message: string): string[] {
  const source = `
    const { createInterface } = require("node:readline");
    const results = {
      initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } },
      "tools/list": { tools: [{ name: "save", inputSchema: { type: "object" } }] },
    };
    createInterface(process.stdin).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      const error = method === "tools/call" ? ${JSON.stringify({ code, message })} : { code: -32601, message: "unknown" };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(results[method] ? { result: results[method] } : { error }) }));
    });`;
  return ["--", process.execPath, "-e", source];
}

async function failure(args: readonly string[]) {
  const { code, stderr } = await runPortolan(args, { cwd: makeHome() });
  return { code, ...JSON.parse(stderr).error };
}

test.each([-32_603, -1, 1_234])("call: error %d of a tool is a failure of the tool, in its words", async (code) => {
  expect(await failure(["call", "save", ...failingWith(code, "the disk is full")])).toMatchObject({
    code: 5,
    kind: "tool",
    message: "the disk is full",
  });
});

test("call: an error about the protocol is not a failure of the tool", async () => {
  expect(await failure(["call", "save", ...failingWith(-32_600, "not initialized")])).toMatchObject({
    code: 8,
    kind: "protocol",
  });
});

test("a 403 with an explanation is shown, and no sign-in is suggested", async () => {
  const server = createServer((_, response) => {
    response.writeHead(403, { "content-type": "text/plain" }).end("Your network is blocked");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  const { message, next, code } = await failure([
    "ls",
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
  ]);
  expect(code).toBe(4);
  expect(message).toContain("answered 403: Your network is blocked");
  expect(next).not.toContain("login");
});

test.each([["ls"], ["call", "save"], ["read", "file:///x"], ["doctor"], ["check"], ["serve", "--http", "0"]])(
  "%s shows a command without the secrets of its variables and flags, also in the next step",
  async (...args) => {
    const dying = [process.execPath, "-e", "process.exit(3)", "x", "--api-key=k3y-of-ada", "--password", "pw-of-ada"];
    const command = ["--", "env", "SUPABASE_ACCESS_TOKEN=sbp-of-ada", ...dying];
    const { stdout, stderr } = await runPortolan([...args, ...command], { cwd: makeHome() });
    expect(stdout + stderr).not.toMatch(/-of-ada/);
    expect(stdout + stderr).toContain("SUPABASE_ACCESS_TOKEN=***");
  },
);
