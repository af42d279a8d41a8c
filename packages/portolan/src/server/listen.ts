import type { JsonObject } from "../jsonrpc/message.ts";
import { invalidParams, resourceNotFound } from "../protocol/errors.ts";
import { metaKeys } from "../protocol/meta.ts";
import { complete, type Outcome } from "../protocol/outcome.ts";
import type { SubscriptionFilter } from "../protocol/types/index.ts";
import type { ServedExchange } from "./exchange.ts";
import { findResource } from "./resources.ts";
import type { Runtime } from "./runtime.ts";
import { covers, maxSubscriptions } from "./subscriptions.ts";

const members: { [topic: string]: keyof SubscriptionFilter } = {
  "tools/list_changed": "toolsListChanged",
  "prompts/list_changed": "promptsListChanged",
  "resources/list_changed": "resourcesListChanged",
};

/** Answers `subscriptions/listen`: first what will be heard, then the changes, and the result when the server ends it. */
export function listen(runtime: Runtime, exchange: ServedExchange): Promise<Outcome> {
  const _meta = { [metaKeys.subscriptionId]: exchange.id };
  const wanted = exchange.params["notifications"] as SubscriptionFilter & JsonObject;
  const notifications = honoured(runtime, exchange, wanted);
  const extra = runtime.snapshot.listenTests(exchange.peer);
  exchange.notify("notifications/subscriptions/acknowledged", { _meta, notifications });

  const stop = runtime.hub.listen({
    principal: exchange.principal.key,
    wants(topic, payload) {
      const member = members[topic];
      if (member !== undefined) return notifications[member] === true;
      if (topic === "resources/updated") {
        return notifications.resourceSubscriptions?.some((uri) => covers(uri, String(payload["uri"]))) ?? false;
      }
      return extra.some(
        ([name, test]) => notifications[name] !== undefined && test(notifications[name], topic, payload),
      );
    },
    hear(topic, payload) {
      const params = { ...payload, _meta };
      if (topic in members || topic === "resources/updated") exchange.notify(`notifications/${topic}`, params);
      // The protocol's revisions do not know the notifications of extensions.
      else if (exchange.isOpen) exchange.back.notify(`notifications/${topic}`, params);
    },
  });
  const releases = holdAll(runtime, exchange, notifications.resourceSubscriptions ?? []);
  const release = () => {
    stop();
    for (const letGo of releases) letGo();
  };
  return new Promise((resolve, reject) => {
    exchange.onCancel((reason) => {
      release();
      reject(reason);
    });
    exchange.endGracefully = () => {
      release();
      resolve(complete({ _meta }));
    };
  });
}

/** Answers `resources/subscribe`. */
export function subscribe(runtime: Runtime, exchange: ServedExchange): Outcome {
  const uri = exchange.params["uri"] as string;
  if (!findResource(runtime, exchange, uri)) throw resourceNotFound(uri);
  exchange.session?.subscribe(uri, () => holdAll(runtime, exchange, [uri]));
  return complete({});
}

/** Begins what watching these resources needs; each function ends one watch. */
function holdAll(runtime: Runtime, exchange: ServedExchange, uris: readonly string[]): (() => void)[] {
  return uris.flatMap((uri) => {
    const watch = findResource(runtime, exchange, uri)?.readable.definition.watch;
    return watch ? [runtime.hub.hold(uri, watch)] : [];
  });
}

/** The part of a filter that this server can keep to. */
function honoured(
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
    // What a caller cannot read it cannot follow either.
    filter.resourceSubscriptions = uris.filter((uri) => findResource(runtime, exchange, uri));
  }
  for (const [name] of runtime.snapshot.listenTests(exchange.peer))
    if (wanted[name] !== undefined) filter[name] = wanted[name];
  return filter;
}
