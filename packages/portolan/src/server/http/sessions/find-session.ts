import type { MaybePromise } from "../../../async.ts";
import { headerKeys } from "../../../http/headers.ts";
import { isRequest, type Message } from "../../../jsonrpc/message.ts";
import { statefulRevisions } from "../../../protocol/revisions/index.ts";
import type { EndpointState, HttpContext } from "../endpoint.ts";
import { whileWaiting } from "../observe.ts";
import { answerError, idOf, refuse } from "../reply.ts";
import type { KnownSession, Sessions } from "./sessions.ts";

/**
 * Returns the session of a request; answers with an error and returns undefined if there is none.
 *
 * @param renews puts off the expiry of a session that is read from the storage; false for one that is about to end
 */
export function findSession(
  state: EndpointState,
  sessions: Sessions,
  context: HttpContext,
  messages: Message | Message[] = [],
  renews = true,
): MaybePromise<KnownSession | undefined> {
  const { request, reply, headers } = context;
  const id = request.header(headerKeys.session);
  const version = request.header(headerKeys.version);
  if (version !== undefined && !statefulRevisions.some((revision) => revision.version === version.trim())) {
    const message = `MCP-Protocol-Version: expected one of ${statefulRevisions.map((r) => r.version).join(", ")}`;
    refuse(reply, 400, message, headers, idOf(messages));
    return undefined;
  }
  if (id === undefined) {
    const message = "Mcp-Session-Id: expected the id of a session; begin one with an initialize request";
    refuse(reply, 400, message, headers, idOf(messages));
    return undefined;
  }
  // Hot path: most requests find their session in the cache.
  const cached = sessions.cached(id);
  if (cached) return takeSession(cached, sessions, context, messages);
  return whenStored(state, sessions, context, messages, () => sessions.find(id, renews))?.then((found) =>
    takeSession(found, sessions, context, messages),
  );
}

/**
 * Does work that waits for the storage. Meanwhile the request counts as a call of its caller: a storage that hangs must not
 * collect any number of them. Answers with an error and returns undefined if that is beyond a limit.
 */
export function whenStored<T>(
  state: EndpointState,
  { isShared }: Sessions,
  context: HttpContext,
  messages: Message | Message[],
  work: () => Promise<T>,
): Promise<T> | undefined {
  // The memory of this process answers at once.
  if (!isShared) return work();
  const { reply, headers } = context;
  return whileWaiting(state, context, messages, work, (error) => answerError(reply, error, headers, idOf(messages)));
}

/** Returns the session if it belongs to the principal of the request; answers with 404 if not. */
function takeSession(
  found: KnownSession | undefined,
  sessions: Sessions,
  { reply, principal, caller, headers }: HttpContext,
  messages: Message | Message[],
): KnownSession | undefined {
  if (found?.principal === principal.key) return found;
  const reason = sessions.whyNotFound(found !== undefined);
  caller.refused({ status: 404, reason, request: [messages].flat().find(isRequest) });
  refuse(reply, 404, "Session not found: initialize again", headers, idOf(messages));
  return undefined;
}
