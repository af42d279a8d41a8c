import { whenDone } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { RpcError } from "../../jsonrpc/message.ts";
import { invalidParams, resourceNotFound } from "../../protocol/errors.ts";
import { complete, metaKeys, type Outcome } from "../../protocol/revision.ts";
import type { SubscriptionFilter } from "../../protocol/types/index.ts";
import { roundStateOf } from "../ask/round-state.ts";
import { activeExtensions, requireDeclared } from "../call/active-extensions.ts";
import { capabilitiesOf } from "../call/describe.ts";
import type { ServedExchange } from "../call/exchange.ts";
import { findResource } from "../call/resources.ts";
import type { ListenMember } from "../extension.ts";
import { maxSubscriptions, subscriptionEndMs } from "../limits.ts";
import type { ServerRuntime } from "../runtime.ts";
import type { Listener } from "./hub.ts";
import { subscribersOf } from "./subscribers.ts";
import { holdWatch } from "./watches.ts";

const filterMembers: { [topic: string]: keyof SubscriptionFilter } = {
  "tools/list_changed": "toolsListChanged",
  "prompts/list_changed": "promptsListChanged",
  "resources/list_changed": "resourcesListChanged",
};

/** Answers `subscriptions/listen`: acknowledges the filter, sends the changes, and the result when the server ends it. */
export async function listen(runtime: ServerRuntime, exchange: ServedExchange): Promise<Outcome> {
  const _meta = { [metaKeys.subscriptionId]: exchange.id };
  const filter = exchange.params["notifications"] as SubscriptionFilter & JsonObject;
  const notifications = acceptedFilter(runtime, exchange, filter);
  const extra = await admitted(runtime, exchange, filter);
  for (const { name, value } of extra) notifications[name] = value;
  const { resourceSubscriptions: wanted = [] } = notifications;
  const releaseRequest = roundStateOf(runtime).budget.holdSubscriptions(exchange, wanted.length);
  const releases = [releaseRequest];
  const { caller } = exchange.returnPath;
  const counted = caller?.callers.across?.openStream(caller);
  if (counted) {
    counted.catch(releaseRequest);
    releases.push(await counted);
  }
  releases.push(...(await watchAll(runtime, exchange, notifications)));
  exchange.notify("notifications/subscriptions/acknowledged", { _meta, notifications });

  const listener: Listener = {
    principal: exchange.principal.key,
    wants(topic, payload) {
      const member = filterMembers[topic];
      if (member !== undefined) return notifications[member] === true;
      return extra.some(({ member, value }) => member.wants(value, topic, payload));
    },
    deliver(topic, payload) {
      const params = { ...payload, _meta };
      if (topic in filterMembers || topic === "resources/updated") exchange.notify(`notifications/${topic}`, params);
      // Sent unencoded, because revisions do not know the notifications of extensions.
      else if (exchange.isOpen) exchange.returnPath.notify(`notifications/${topic}`, params);
    },
  };
  runtime.hub.addListener(listener);
  const subscribers = subscribersOf(runtime.hub);
  const { resourceSubscriptions: uris = [] } = notifications;
  for (const uri of uris) subscribers.add(uri, listener);
  const release = () => {
    runtime.hub.removeListener(listener);
    for (const uri of uris) subscribers.delete(uri, listener);
    // Removed, because a request may be ended and cancelled in one turn, and others hold the same watches.
    for (const releaseOne of releases.splice(0)) releaseOne();
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
export async function subscribe(runtime: ServerRuntime, exchange: ServedExchange): Promise<Outcome> {
  const uri = exchange.params["uri"] as string;
  const begin = watchOf(runtime, exchange, uri);
  await exchange.session?.subscribe(uri, () => begin && holdWatch(runtime.hub, uri, begin));
  return complete({});
}

/** Begins the watches of the resources in a filter. Removes the resources that cannot be watched from it. */
async function watchAll(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  filter: SubscriptionFilter,
): Promise<(() => void)[]> {
  const watched: string[] = [];
  const releases: (() => void)[] = [];
  for (const uri of filter.resourceSubscriptions ?? []) {
    try {
      const begin = watchOf(runtime, exchange, uri);
      if (begin) releases.push(await holdWatch(runtime.hub, uri, begin));
      watched.push(uri);
    } catch (cause) {
      if (!(cause instanceof RpcError)) runtime.report(cause, exchange.origin);
    }
  }
  if (filter.resourceSubscriptions) filter.resourceSubscriptions = watched;
  return releases;
}

type BeginWatch = Parameters<typeof holdWatch>[2];

/** Returns the function that begins the watch of a resource; undefined if the resource has none. */
export function watchOf(runtime: ServerRuntime, exchange: ServedExchange, uri: string): BeginWatch | undefined {
  const found = findResource(runtime, exchange, uri);
  if (!found) throw resourceNotFound(uri);
  const { watch } = found.readable.definition;
  return (
    watch &&
    ((changed) =>
      whenDone(watch(uri, changed, found.values ?? {}, exchange), (stop) => {
        if (!stop) throw resourceNotFound(uri);
        return stop;
      }))
  );
}

/** Returns the part of a filter that this server supports and this caller may see. */
function acceptedFilter(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  wanted: SubscriptionFilter & JsonObject,
): SubscriptionFilter & JsonObject {
  const { tools, prompts, resources } = capabilitiesOf(runtime, exchange.peer, exchange.principal);
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
  return filter;
}

/** A member of a filter that an extension has admitted. */
interface AdmittedMember {
  readonly name: string;
  readonly member: ListenMember;
  readonly value: unknown;
}

/** Returns the members of a filter that extensions admit. Throws for a member of an extension that was not declared. */
async function admitted(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  wanted: JsonObject,
): Promise<readonly AdmittedMember[]> {
  const members: AdmittedMember[] = [];
  for (const active of activeExtensions(runtime, exchange.peer.revision)) {
    for (const [name, member] of Object.entries(active.parts.listen ?? {})) {
      if (wanted[name] === undefined) continue;
      requireDeclared(exchange.peer, active, `params.notifications.${name}`);
      const value = await member.admit(wanted[name], exchange);
      if (value !== undefined) members.push({ name, member, value });
    }
  }
  return members;
}

/** Ends listening requests with their results, and tells the client that they are over. */
export async function endListening(
  listening: readonly ServedExchange[],
  notify: (method: string, params: JsonObject) => void,
): Promise<void> {
  for (const exchange of listening) exchange.endGracefully();
  await atMost(subscriptionEndMs, Promise.all(listening.map((exchange) => exchange.ended)));
  for (const { id } of listening) {
    const _meta = { [metaKeys.subscriptionId]: id };
    notify("notifications/cancelled", { requestId: id, reason: "The server is closing the connection", _meta });
  }
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
