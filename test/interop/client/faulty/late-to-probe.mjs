// Answers the probe only after initialize has arrived. The argument names the answers and their order.
import { discovered, greet, send, serve, toError, toResult } from "./raw.mjs";

let probe;
const refuse = ({ id }) => toError(id, -32022, "Only stateless", { supported: ["2026-07-28"] });

const answers = {
  "result-then-refusal": (greeting) => send(toResult(probe, discovered), refuse(greeting)),
  "refusal-then-result": (greeting) => {
    send(refuse(greeting));
    setImmediate(() => send(toResult(probe, discovered)));
  },
  "result-then-silence": () => send(toResult(probe, discovered)),
  "error-then-welcome": (greeting) => send(toError(probe, -32601, "Method not found"), greet(greeting)),
  "result-then-welcome": (greeting) => send(toResult(probe, discovered), greet(greeting)),
  "error-then-refusal": (greeting) => send(toError(probe, -32601, "Method not found"), refuse(greeting)),
};

serve({
  "server/discover": ({ id }) => {
    probe = id;
  },
  initialize: answers[process.argv[2]],
});
