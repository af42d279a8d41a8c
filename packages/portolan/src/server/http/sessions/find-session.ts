import { type MaybePromise, whenDone } from "../../../async.ts";
import type { RequestId } from "../../../jsonrpc/message.ts";
import { handshakes } from "../../../protocol/revisions/index.ts";
import { headerKeys } from "../../../transport/headers.ts";
import { sendError } from "../status.ts";
import type { Visit } from "../visit.ts";
import type { KnownSession, Sessions } from "./sessions.ts";

/** The session of a request; answers the request itself when there is none. */
export function findSession(
  sessions: Sessions,
  { request, reply, principal, headers }: Visit,
  requestId?: RequestId,
): MaybePromise<KnownSession | undefined> {
  const id = request.header(headerKeys.session);
  const version = request.header(headerKeys.version);
  if (version !== undefined && !handshakes.some((revision) => revision.version === version.trim())) {
    const message = `MCP-Protocol-Version: expected one of ${handshakes.map((r) => r.version).join(", ")}`;
    sendError(reply, 400, { code: -32600, message }, requestId, headers);
    return undefined;
  }
  if (id === undefined) {
    const message = "Mcp-Session-Id: expected the header of a session, which begins with an initialize request";
    sendError(reply, 400, { code: -32600, message }, requestId, headers);
    return undefined;
  }
  return whenDone(sessions.find(id, principal.key), (known) => {
    if (known) return known;
    sendError(reply, 404, { code: -32600, message: "Session not found: initialize again" }, requestId, headers);
    return undefined;
  });
}
