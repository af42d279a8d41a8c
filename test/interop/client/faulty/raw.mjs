// A minimal server without checks: reads and writes lines. Each odd server replaces one of its handlers.
import { createInterface } from "node:readline";

export const stateless = "2026-07-28";

export const toResult = (id, result) => ({ jsonrpc: "2.0", id, result });
export const toError = (id, code, message, data) => ({ jsonrpc: "2.0", id, error: { code, message, data } });
export const toText = (text) => ({ content: [{ type: "text", text }] });

/** Writes all messages in one chunk. */
export function send(...messages) {
  process.stdout.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
}

export const discovered = {
  resultType: "complete",
  supportedVersions: [stateless],
  capabilities: { tools: {} },
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "odd", version: "1" } },
};

export const greet = ({ id, params }, protocolVersion = params.protocolVersion) =>
  toResult(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } });

const received = [];

const usual = {
  initialize: (request) => send(greet(request)),
  "completion/complete": ({ id }) => send(toResult(id, { completion: { values: ["Ada"] } })),
  // Returns the methods that were received so far.
  "tools/call": ({ id }) => send(toResult(id, { resultType: "complete", ...toText(received.join(" ")) })),
};

export function serve(handlers) {
  process.stderr.write(`pid ${process.pid}\n`);
  createInterface({ input: process.stdin }).on("line", (line) => {
    const message = JSON.parse(line);
    received.push(message.method ?? "response");
    ({ ...usual, ...handlers })[message.method]?.(message);
  });
}
