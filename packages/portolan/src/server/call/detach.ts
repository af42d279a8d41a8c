import { type MaybePromise, whenDone } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { RpcRequest } from "../../jsonrpc/message.ts";
import { methodNotFound } from "../../protocol/errors.ts";
import type { Outcome } from "../../protocol/revision.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import {
  type DetachableRequest,
  type DetachedRun,
  type DetachOptions,
  runAround,
  type ServerExtension,
} from "../extension.ts";
import type { ServerRuntime } from "../runtime.ts";
import { checkParams, handlerOf, toRpcError } from "./dispatch.ts";
import { type ReturnPath, ServedExchange } from "./exchange.ts";

/** Returns an exchange that belongs to no client. Its questions end it, unless the path asks them. */
export function detachedExchange(request: DetachableRequest, path: ReturnPath): ServedExchange {
  const { id, method, params, peer, principal } = request;
  const { version } = peer.revision;
  const revision = revisions.find((one) => one.version === version);
  if (!revision) throw new PortolanError("version-mismatch", `A request of protocol version ${version} cannot be run`);
  const { capabilities, info } = peer;
  const message: RpcRequest = { jsonrpc: "2.0", id, method, params };
  const exchange = new ServedExchange(message, { revision, capabilities, info }, principal, path);
  exchange.asksBy = path.ask ? "requests" : "in-result";
  return exchange;
}

/** Runs the handler of a request inside the middleware that comes after an extension. */
export function runAfter(
  runtime: ServerRuntime,
  extension: ServerExtension,
  exchange: ServedExchange,
): MaybePromise<Outcome> {
  return whenDone(runtime.snapshot.loading, () => {
    const { snapshot } = runtime;
    const { method, peer } = exchange;
    const row = peer.revision.requests.get(method);
    const handle = handlerOf(method);
    const isOffered = row?.capability === undefined || snapshot.offered[row.capability];
    if (!row || !handle || !isOffered) throw methodNotFound(method);
    checkParams(row, exchange);
    const before = snapshot.parts.extensions.filter(({ around }) => around).indexOf(extension);
    const chain = snapshot.chain(method, runtime).slice(before + 1);
    return runAround(chain, exchange, (current) => handle(runtime, current));
  });
}

/** Runs a request apart from every client, for `ExtendedServer.detach`. */
export function detach(
  runtime: ServerRuntime,
  extension: ServerExtension,
  request: DetachableRequest,
  { notify = () => {}, status = () => {}, ask }: DetachOptions,
): DetachedRun {
  const exchange = detachedExchange(request, { notify, status, ...(ask && { ask: (_, question) => ask(question) }) });
  const outcome = Promise.resolve()
    .then(() => runAfter(runtime, extension, exchange))
    .catch((cause) => {
      throw toRpcError(runtime, cause, exchange.origin);
    })
    .finally(() => {
      exchange.end();
      exchange.settle();
    });
  // An error that is no answer for a client was reported.
  outcome.catch(() => {});
  return { outcome, cancel: (reason) => exchange.cancel(reason) };
}
