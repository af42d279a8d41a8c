import { whenDone } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { RpcError } from "../../jsonrpc/message.ts";
import { invalidParams, resourceNotFound } from "../../protocol/errors.ts";
import { complete, metaKeys, type Outcome } from "../../protocol/revision.ts";
import type { SubscriptionFilter } from "../../protocol/types/index.ts";
import { roundStateOf } from "../ask/round-state.ts";
import type { ServedExchange } from "../call/exchange.ts";
import { findResource } from "../call/resources.ts";
import { maxSubscriptions } from "../limits.ts";
import type { Runtime } from "./hub.ts";
import { covers } from "./hub.ts";

const filterMembers: { [topic: string]: keyof SubscriptionFilter } = {
  "tools/list_changed": "toolsListChanged",
  "prompts/list_changed": "promptsListChanged",
  "resources/list_changed": "resourcesListChanged",
};

/** Answers `subscriptions/listen`: acknowledges the filter, sends the changes, and the result when the server ends it. */
export async function listen(runtime: Runtime, exchange: ServedExchange): Promise<Outcome> {
  const _meta = { [metaKeys.subscriptionId]: exchange.id };
  const notifications = acceptedFilter(
    runtime,
    exchange,
    exchange.params["notifications"] as SubscriptionFilter & JsonObject,
  );
  const releaseRequest = roundStateOf(runtime).budget.holdRequest(exchange, "another subscription");
  const releases = [releaseRequest, ...(await watchAll(runtime, exchange, notifications))];
  const extra = runtime.snapshot.listenTests(exchange.peer);
  exchange.notify("notifications/subscriptions/acknowledged", { _meta, notifications });

  const stop = runtime.hub.listen({
    principal: exchange.principal.key,
    wants(topic, payload) {
      const member = filterMembers[topic];
      if (member !== undefined) return notifications[member] === true;
      if (topic === "resources/updated") {
        return notifications.resourceSubscriptions?.some((uri) => covers(uri, String(payload["uri"]))) ?? false;
      }
      return extra.some(
        ([name, test]) => notifications[name] !== undefined && test(notifications[name], topic, payload),
      );
    },
    deliver(topic, payload) {
      const params = { ...payload, _meta };
      if (topic in filterMembers || topic === "resources/updated") exchange.notify(`notifications/${topic}`, params);
      // Sent unencoded, because revisions do not know the notifications of extensions.
      else if (exchange.isOpen) exchange.returnPath.notify(`notifications/${topic}`, params);
    },
  });
  const release = () => {
    stop();
    for (const releaseWatch of releases) releaseWatch();
  };
  return new Promise((resolve, reject) => {
    exchange.onCancel((reason) => {
      release();
      reject(reason);
    });
    exchange.onGracefulEnd(() => {
      release();
      resolve(complete({ _meta }));
    });
  });
}

/** Answers `resources/subscribe` once the watch of the resource has begun. */
export async function subscribe(runtime: Runtime, exchange: ServedExchange): Promise<Outcome> {
  const uri = exchange.params["uri"] as string;
  const begin = watchOf(runtime, exchange, uri);
  await exchange.session?.subscribe(uri, () => begin && runtime.hub.hold(uri, begin));
  return complete({});
}

/** Begins the watches of the resources in a filter. Removes the resources that cannot be watched from it. */
async function watchAll(
  runtime: Runtime,
  exchange: ServedExchange,
  filter: SubscriptionFilter,
): Promise<(() => void)[]> {
  const watched: string[] = [];
  const releases: (() => void)[] = [];
  for (const uri of filter.resourceSubscriptions ?? []) {
    try {
      const begin = watchOf(runtime, exchange, uri);
      if (begin) releases.push(await runtime.hub.hold(uri, begin));
      watched.push(uri);
    } catch (cause) {
      if (!(cause instanceof RpcError)) runtime.report(cause, exchange.method);
    }
  }
  if (filter.resourceSubscriptions) filter.resourceSubscriptions = watched;
  return releases;
}

type BeginWatch = Parameters<Runtime["hub"]["hold"]>[1];

/** Returns the function that begins the watch of a resource; undefined if the resource has none. */
export function watchOf(runtime: Runtime, exchange: ServedExchange, uri: string): BeginWatch | undefined {
  const found = findResource(runtime, exchange, uri);
  if (!found) throw resourceNotFound(uri);
  const { watch } = found.readable.definition;
  return (
    watch &&
    ((changed) =>
      whenDone(watch(uri, changed, found.values ?? {}), (stop) => {
        if (!stop) throw resourceNotFound(uri);
        return stop;
      }))
  );
}

/** Returns the part of a filter that this server supports and this caller may see. */
function acceptedFilter(
  runtime: Runtime,
  exchange: ServedExchange,
  wanted: SubscriptionFilter & JsonObject,
): SubscriptionFilter & JsonObject {
  const { tools, prompts, resources } = runtime.snapshot.capabilities(exchange.peer);
  const filter: SubscriptionFilter & JsonObject = {};
  if (wanted.toolsListChanged && tools?.listChanged) filter.toolsListChanged = true;
  if (wanted.promptsListChanged && prompts?.listChanged) filter.promptsListChanged = true;
  if (wanted.resourcesListChanged && resources?.listChanged) filter.resourcesListChanged = true;
  if (wanted.resourceSubscriptions && resources?.subscribe) {
    const uris = [...new Set(wanted.resourceSubscriptions)];
    if (uris.length > maxSubscriptions) {
      throw invalidParams(
        `params.notifications.resourceSubscriptions: expected at most ${maxSubscriptions}, got ${uris.length}`,
      );
    }
    // A caller cannot subscribe to a resource that it cannot read.
    filter.resourceSubscriptions = uris.filter((uri) => findResource(runtime, exchange, uri));
  }
  for (const [name] of runtime.snapshot.listenTests(exchange.peer))
    if (wanted[name] !== undefined) filter[name] = wanted[name];
  return filter;
}
