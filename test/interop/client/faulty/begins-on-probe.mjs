// A bridge that begins a session with the first request, whatever it is, and refuses to begin another.
import { greet, send, serve, toError } from "./raw.mjs";

let hasBegun = false;

serve({
  "server/discover": ({ id }) => {
    hasBegun = true;
    send(toError(id, -32601, "Method not found"));
  },
  initialize: (request) => {
    if (hasBegun) send(toError(request.id, -32600, "Invalid Request: Server already initialized"));
    else send(greet(request));
    hasBegun = true;
  },
});
