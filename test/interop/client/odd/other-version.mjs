// Greets with the version that is its argument, whatever it was asked for.
import { greet, send, serve, toError } from "./raw.mjs";

serve({
  "server/discover": ({ id }) => send(toError(id, -32601, "Method not found")),
  initialize: (request) => send(greet(request, process.argv[2])),
});
