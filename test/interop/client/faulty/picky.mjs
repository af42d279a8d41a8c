// Refuses the probe and offers the versions of its arguments; accepts initialize only with one of them.
import { greet, send, serve, toError } from "./raw.mjs";

const supported = process.argv.slice(2);
const refuse = ({ id }, requested) =>
  send(toError(id, -32022, "Unsupported protocol version", { supported, requested }));

serve({
  "server/discover": (request) => refuse(request, "2026-07-28"),
  initialize: (request) => {
    const { protocolVersion } = request.params;
    if (supported.includes(protocolVersion)) send(greet(request));
    else refuse(request, protocolVersion);
  },
});
