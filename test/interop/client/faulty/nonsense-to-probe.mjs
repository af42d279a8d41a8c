// Answers the probe with an invalid message; the argument names its kind. Otherwise a stateful server.
import { send, serve, toError, toResult } from "./raw.mjs";

const write = (text) => process.stdout.write(`${text}\n`);

const nonsense = {
  "empty result": ({ id }) => send(toResult(id, {})),
  "versions that are not a list": ({ id }) => send(toResult(id, { supportedVersions: "all", capabilities: {} })),
  "method not found": ({ id }) => send(toError(id, -32601, "Method not found")),
  "invalid params": ({ id }) => send(toError(id, -32602, "Invalid params")),
  "invalid request": ({ id }) => send(toError(id, -32600, "Not initialized")),
  "an unknown error code": ({ id }) => send(toError(id, 4711, "I would rather not")),
  "an error without id": () => send({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } }),
  "invalid JSON": () => write("error: unknown method server/discover"),
  "an array": () => write("[]"),
  "a number": () => write("42"),
  "neither result nor error": ({ id }) => send({ jsonrpc: "2.0", id }),
  "the response to another request": () => send(toResult("nobody", {})),
};

serve({ "server/discover": nonsense[process.argv[2]] });
