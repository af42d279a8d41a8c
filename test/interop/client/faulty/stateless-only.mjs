import { discovered, send, serve, toError, toResult } from "./raw.mjs";

serve({
  "server/discover": ({ id }) => send(toResult(id, discovered)),
  initialize: ({ id }) => send(toError(id, -32022, "Only stateless", { supported: ["2026-07-28"] })),
});
