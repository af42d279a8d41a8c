// Sends unexpected messages: requests before the initialize result, unknown responses and duplicate responses.
import { greet, send, serve, toError, toResult, toText } from "./raw.mjs";

const ping = { jsonrpc: "2.0", id: "early", method: "ping" };
const nonesuch = { jsonrpc: "2.0", id: 0, method: "example/nonesuch" };
const received = [];
let waiting;

/** Answers the waiting call when its own requests are answered. */
function answer() {
  if (waiting === undefined || received.length < 2) return;
  const answer = toResult(waiting, toText(received.sort().join(", ")));
  send(toResult(9_999, {}), toError("nobody", -32603, "?"), answer, answer);
}

serve({
  initialize: (request) => {
    send(ping, nonesuch, { jsonrpc: "2.0", method: "notifications/example" });
    send(greet(request));
  },
  undefined: ({ id, error }) => {
    received.push(`${JSON.stringify(id)} ${error?.code ?? "ok"}`);
    answer();
  },
  "tools/call": ({ id }) => {
    waiting = id;
    answer();
  },
});
