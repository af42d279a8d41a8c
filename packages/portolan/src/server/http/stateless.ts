import type { MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import { type JsonObject, RpcError, type RpcRequest, rpcCodes, serialize } from "../../jsonrpc/message.ts";
import { headerMismatch, internalError, invalidParams, missingMeta } from "../../protocol/errors.ts";
import { metaKeys, metaOf } from "../../protocol/revision.ts";
import { perRequestVersions, revisionOf } from "../../protocol/revisions/index.ts";
import { headerKeys, problemOfHeaders } from "../../transport/headers.ts";
import type { ParamPlan } from "../../transport/param-headers.ts";
import { serveExchange } from "../call/dispatch.ts";
import { type ReturnPath, ServedExchange } from "../call/exchange.ts";
import type { HttpRequest } from "./adapter.ts";
import type { EndpointState, HttpContext } from "./endpoint.ts";
import { answerError, PostReply } from "./reply.ts";

/** Serves one request that describes itself. Nothing is kept before or after it. */
export function serveStateless(state: EndpointState, message: RpcRequest, context: HttpContext): void {
  const { request, reply, principal, caller, headers } = context;
  const { runtime, streams } = state;
  const { id } = message;
  try {
    const revision = checkVersion(message, request);
    const peer = revision.readPeer(metaOf(message.params) ?? {});
    const problem = problemOfHeaders(message, revision.requests.get(message.method), (name) => request.header(name));
    if (problem !== undefined) throw headerMismatch(problem);
    const answer = new PostReply(context, streams);
    if (revision.requests.get(message.method)?.openEnded && !answer.mayStream) {
      const full = caller.exhausts("streams");
      if (full) throw caller.beyond("streams", full);
      throw new RpcError(rpcCodes.internalError, "No event stream: Accept lacks text/event-stream");
    }
    const refusal = state.refusal(message, context);
    if (refusal) throw refusal;
    const returnPath: ReturnPath = {
      writesText: true,
      caller,
      notify: (method, params) => answer.send({ jsonrpc: "2.0", method, params }),
      checkArguments: (schema, args) => checkParams(schema, args, request),
    };
    const exchange = new ServedExchange(message, peer, principal, returnPath);
    const { expiresAt } = principal;
    if (expiresAt !== undefined) answer.expiry = { at: expiresAt, end: () => exchange.endGracefully() };
    const running = serveExchange(runtime, exchange, (response, error) => answer.finish(serialize(response), error));
    if (!running) return;
    // spec 2026-07-28: a client that closes the stream of its request cancels it.
    reply.onGone(() => {
      exchange.cancel(new PortolanError("connection-closed", "The client closed the connection"));
      answer.drop();
    });
    answer.keepOpen(state.quietMs);
    state.track(exchange, running, context);
  } catch (cause) {
    const error = cause instanceof RpcError ? cause : internalError();
    if (error !== cause) runtime.report(cause, message.method);
    answerError(reply, error, headers, id);
  }
}

function checkVersion(message: RpcRequest, request: HttpRequest) {
  const named = metaOf(message.params)?.[metaKeys.protocolVersion];
  if (typeof named !== "string") {
    const missing = `_meta["${metaKeys.protocolVersion}"]: expected the protocol version`;
    throw missingMeta(missing, { supported: perRequestVersions });
  }
  const header = request.header(headerKeys.version)?.trim();
  if (header !== named) {
    throw headerMismatch(`MCP-Protocol-Version: expected ${named} as in the body, got ${header ?? "no such header"}`);
  }
  const revision = revisionOf(message);
  if (!revision) throw invalidParams("_meta: expected the protocol version");
  return revision;
}

/** Schemas and whether headers repeat some of their arguments. Cached, because definitions do not change. */
const repeats = new WeakMap<object, boolean>();

function checkParams(schema: JsonObject, args: JsonObject, request: HttpRequest): MaybePromise<void> {
  let isRepeated = repeats.get(schema);
  if (isRepeated === undefined) {
    isRepeated = JSON.stringify(schema).includes('"x-mcp-header"');
    repeats.set(schema, isRepeated);
  }
  if (!isRepeated) return;
  return import("../../transport/param-headers.ts").then((params) => {
    const problem = problemOfParams(params, schema, args, request);
    if (problem !== undefined) throw headerMismatch(problem);
  });
}

/** Parameter plans by schema. Cached, because definitions do not change. */
const plans = new WeakMap<object, ParamPlan | undefined>();

/** Returns the difference between arguments and the headers that repeat them; undefined if there is none. */
function problemOfParams(
  { planParamHeaders, problemOfParamHeaders }: typeof import("../../transport/param-headers.ts"),
  schema: JsonObject,
  args: JsonObject,
  request: HttpRequest,
): string | undefined {
  if (!plans.has(schema)) {
    const plan = planParamHeaders(schema);
    plans.set(schema, "problem" in plan ? undefined : plan);
  }
  const plan = plans.get(schema);
  return plan && problemOfParamHeaders(plan, args, (prefix) => request.headersUnder(prefix));
}
