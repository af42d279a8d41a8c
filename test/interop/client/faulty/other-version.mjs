// Answers initialize with the version of its argument, regardless of the requested one.
import { greet, send, serve, toError } from "./raw.mjs";

serve({
  "server/discover": ({ id }) => send(toError(id, -32601, "Method not found")),
  initialize: (request) => send(greet(request, process.argv[2])),
});
