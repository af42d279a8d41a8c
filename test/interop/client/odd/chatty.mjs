// Says what nobody asked for around each answer: requests before the greeting, answers to nobody, answers given twice.
import { greet, send, serve, toError, toResult, toText } from "./raw.mjs";

const ping = { jsonrpc: "2.0", id: "early", method: "ping" };
const nonesuch = { jsonrpc: "2.0", id: 0, method: "example/nonesuch" };
const told = [];
let waiting;

/** Answers its calls when its own questions are answered. */
function answer() {
  if (waiting === undefined || told.length < 2) return;
  const answer = toResult(waiting, toText(told.sort().join(", ")));
  send(toResult(9_999, {}), toError("nobody", -32603, "?"), answer, answer);
}

serve({
  initialize: (request) => {
    send(ping, nonesuch, { jsonrpc: "2.0", method: "notifications/example" });
    send(greet(request));
  },
  undefined: ({ id, error }) => {
    told.push(`${JSON.stringify(id)} ${error?.code ?? "ok"}`);
    answer();
  },
  "tools/call": ({ id }) => {
    waiting = id;
    answer();
  },
});
