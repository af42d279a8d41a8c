// supergateway bridges between stdio and HTTP. For the probe of a client it begins a session with its upstream server.
import { fileURLToPath } from "node:url";
import { type Client, type ConnectTarget, connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "./start-server.ts";

const peers = fileURLToPath(new URL("../../peers/node_modules/", import.meta.url));
const supergateway = `${peers}supergateway/dist/index.js`;
const everything = `${peers}@modelcontextprotocol/server-everything/dist/index.js`;

async function open(target: ConnectTarget): Promise<Client> {
  const client = await connect(target);
  onTestFinished(() => client.close());
  return client;
}

async function expectToWork(client: Client): Promise<void> {
  expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25" });
  expect(await client.callTool("echo", { message: "hi" })).toMatchObject({ content: [{ text: "Echo: hi" }] });
}

test.each([
  ["streamableHttp", "/mcp"],
  ["sse", "/sse"],
])("a bridge from %s to stdio is used after a handshake", async (transport, path) => {
  const toUrl = (line: string, port: number) =>
    /listening|running on port/i.test(line) ? `http://127.0.0.1:${port}${path}` : undefined;
  const upstream = await startServer({ args: [everything, transport], toUrl });
  onTestFinished(() => upstream.stop());
  await expectToWork(await open({ command: process.execPath, args: [supergateway, `--${transport}`, upstream.url] }));
});

test.each([
  ["streamableHttp", "/mcp", []],
  ["streamableHttp", "/mcp", ["--stateful"]],
  ["sse", "/sse", []],
])("a bridge from stdio to %s at %s %j is used after a handshake", async (transport, path, flags) => {
  const command = `"${process.execPath}" "${everything}"`;
  const bridge = await startServer({
    args: [
      "--input-type=module",
      "-e",
      startOnPort,
      supergateway,
      "--stdio",
      command,
      "--outputTransport",
      transport,
      ...flags,
    ],
    toUrl: (line, port) => (/listening on port/i.test(line) ? `http://127.0.0.1:${port}${path}` : undefined),
  });
  onTestFinished(() => bridge.stop());
  await expectToWork(await open(bridge.url));
});

/** Passes the port as a flag, because supergateway does not read the variable. */
const startOnPort = `
process.argv.push("--port", process.env.PORT);
await import("file://" + process.argv[1]);
`;
