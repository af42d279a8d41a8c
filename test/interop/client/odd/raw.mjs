// The least a server can be: lines in, lines out, and nothing checked. Each odd server is this one with something else
// in the place of a handler.
import { createInterface } from "node:readline";

export const stateless = "2026-07-28";

export const toResult = (id, result) => ({ jsonrpc: "2.0", id, result });
export const toError = (id, code, message, data) => ({ jsonrpc: "2.0", id, error: { code, message, data } });
export const toText = (text) => ({ content: [{ type: "text", text }] });

/** Everything in one write. */
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
  // Says what it was sent up to now.
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
