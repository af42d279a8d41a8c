// @ts-check
// Calls one tool over TCP and prints its result.
// Run: node examples/tcp/client.mjs <port> [city]
import { connect } from "node:net";
import { createSocketChannel } from "./channel.mjs";

const channel = createSocketChannel(connect(Number(process.argv[2]), "127.0.0.1"));
channel.open({
  message(message) {
    if ("result" in message) console.log(JSON.stringify(message.result.structuredContent ?? message.result.content));
    else fail(JSON.stringify(message));
    channel.close();
  },
  batch() {},
  unreadable: ({ why }) => fail(why),
  closed(reason) {
    if (reason) fail(`Connection lost: ${reason.message}`);
  },
});
channel.send({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name: "forecast",
    arguments: { city: process.argv[3] ?? "Lisbon" },
    // Each request carries its revision and the client's capabilities, so no handshake comes first.
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
});

function fail(/** @type {string} */ why) {
  console.error(why);
  process.exitCode = 1;
}
