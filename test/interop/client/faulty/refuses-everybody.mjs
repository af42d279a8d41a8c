import { send, serve, toError } from "./raw.mjs";

serve({
  "server/discover": ({ id }) => send(toError(id, -32601, "Method not found")),
  initialize: ({ id }) => send(toError(id, -32000, "The license has expired", { since: "2020" })),
});
