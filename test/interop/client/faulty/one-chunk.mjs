// Writes all progress and the result in one chunk, on both eras.
import { discovered, send, serve, toResult, toText } from "./raw.mjs";

serve({
  "server/discover": ({ id }) => send(toResult(id, discovered)),
  "tools/call": ({ id, params }) => {
    const { progressToken } = params._meta;
    const steps = Array.from({ length: params.arguments.steps }, (_, index) => ({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken, progress: index + 1 },
    }));
    send(...steps, toResult(id, { resultType: "complete", ...toText("done") }));
  },
});
