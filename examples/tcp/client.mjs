// @ts-check
// Calls one tool over a socket and prints its result.
// Run: node examples/tcp/client.mjs [path or port] [city]
import { connect } from "node:net";
import { createSocketChannel } from "./channel.mjs";

const [place = "travel.sock", city = "Lisbon"] = process.argv.slice(2);
const isPort = /^\d+$/.test(place);
const channel = createSocketChannel(isPort ? connect(Number(place), "127.0.0.1") : connect(place));
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
    arguments: { city },
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
