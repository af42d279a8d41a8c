import { Lazy, type MaybePromise, whenDone } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import { headerKeys, problemOfHeaders } from "../../http/headers.ts";
import type { ParamPlan } from "../../http/param-headers.ts";
import { type JsonObject, RpcError, type RpcRequest, rpcCodes, serialize } from "../../jsonrpc/message.ts";
import { headerMismatch, internalError, invalidParams, missingMeta } from "../../protocol/errors.ts";
import { metaKeys, metaOf } from "../../protocol/revision.ts";
import { revisionOf, statelessVersions } from "../../protocol/revisions/index.ts";
import { type SendReply, serveExchange } from "../call/dispatch.ts";
import { type ReturnPath, ServedExchange } from "../call/exchange.ts";
import type { HttpRequest } from "./adapter.ts";
import type { EndpointState, HttpContext } from "./endpoint.ts";
import { answerError, PostReply } from "./reply.ts";

/** Serves one request that describes itself. Nothing is kept before or after it. */
export function serveStateless(state: EndpointState, message: RpcRequest, context: HttpContext): void {
  const { request, reply, principal, caller, headers } = context;
  const { runtime } = state;
  const { id } = message;
  try {
    const revision = checkVersion(message, request);
    const peer = revision.readPeer(metaOf(message.params) ?? {});
    const problem = problemOfHeaders(message, revision.requests.get(message.method), (name) => request.header(name));
    if (problem !== undefined) throw headerMismatch(problem);
    const answer = new PostReply(context, state);
    if (revision.requests.get(message.method)?.openEnded && !answer.mayStream) {
      const full = caller.exhausts("streams");
      if (full) throw caller.beyond("streams", full);
      throw new RpcError(rpcCodes.internalError, "Accept lacks text/event-stream");
    }
    const refusal = state.refusal(message, context);
    if (refusal) throw refusal;
    const returnPath: ReturnPath = {
      writesText: true,
      caller,
      httpRequest: request,
      notify: (method, params) => answer.send({ jsonrpc: "2.0", method, params }),
      checkArguments: (schema, args) => checkParams(schema, args, request),
    };
    const exchange = new ServedExchange(message, peer, principal, returnPath);
    const { expiresAt } = principal;
    if (expiresAt !== undefined) answer.expiry = { at: expiresAt, end: () => exchange.endGracefully() };
    const send: SendReply = (response, error) => answer.finish(serialize(response), error);
    if (!serveExchange(runtime, exchange, send)) return;
    state.whenPending(exchange, () => {
      // spec 2026-07-28: a client that closes the stream of its request cancels it.
      reply.onGone(() => {
        exchange.cancel(new PortolanError("connection-closed", "The client closed the connection"));
        answer.drop();
      });
      answer.keepOpen(state.quietMs);
      state.track(exchange, context, send);
    });
  } catch (cause) {
    const error = cause instanceof RpcError ? cause : internalError();
    if (error !== cause) runtime.report(cause, { method: message.method, principal: principal.key });
    answerError(reply, error, headers, id);
  }
}

function checkVersion(message: RpcRequest, request: HttpRequest) {
  const named = metaOf(message.params)?.[metaKeys.protocolVersion];
  if (typeof named !== "string") {
    const missing = `_meta["${metaKeys.protocolVersion}"]: expected the protocol version`;
    throw missingMeta(missing, { supported: statelessVersions });
  }
  const header = request.header(headerKeys.version)?.trim();
  if (header !== named) {
    throw headerMismatch(`MCP-Protocol-Version: expected ${named} as in the body, got ${header ?? "no such header"}`);
  }
  const revision = revisionOf(message);
  if (!revision) throw invalidParams("_meta: expected the protocol version");
  return revision;
}

/** The plan of each schema; false if no header repeats an argument. Cached, because definitions do not change. */
const plans = new WeakMap<object, ParamPlan | false>();

/** The code for headers that repeat arguments, which few tools have. */
export const paramHeaders: Lazy<typeof import("../../http/param-headers.ts")> = new Lazy(
  () => import("../../http/param-headers.ts"),
);

function checkParams(schema: JsonObject, args: JsonObject, request: HttpRequest): MaybePromise<void> {
  let plan = plans.get(schema);
  if (plan === undefined && !JSON.stringify(schema).includes('"x-mcp-header"')) {
    plan = false;
    plans.set(schema, plan);
  }
  if (plan === false) return;
  return whenDone(paramHeaders.get(), ({ planParamHeaders, problemOfParamHeaders }) => {
    const found = plan ?? planParamHeaders(schema);
    const isPlan = !("problem" in found);
    plans.set(schema, isPlan && found);
    const problem = isPlan ? problemOfParamHeaders(found, args, (prefix) => request.headersUnder(prefix)) : undefined;
    if (problem !== undefined) throw headerMismatch(problem);
  });
}
