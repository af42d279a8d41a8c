import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";

const levels = 20_000;
const deep = `${"[".repeat(levels)}${"]".repeat(levels)}`;
const messages = `[{"jsonrpc":"2.0"},${deep}]`;

/** A server that answers every request with the same body. */
async function answeringWith(status: number, type: string, body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status, { "content-type": type }).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

// An error that nobody catches would end this process.
test.each([
  ["a body", 200, "application/json", deep],
  ["a batch", 200, "application/json", messages],
  ["a refusal", 400, "application/json", deep],
  ["an event", 200, "text/event-stream", `data: ${deep}\n\n`],
])("%s that is nested deeper than the stack fails the connection, not the process", async (_, status, type, body) => {
  const url = await answeringWith(status, type, body);
  for (const era of ["auto", "stateless", "stateful"] as const) {
    await expect(connect(url, { era })).rejects.toMatchObject({ code: expect.any(String) });
  }
});
