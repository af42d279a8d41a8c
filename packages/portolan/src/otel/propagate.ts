import { type Context, propagation, type TextMapGetter, type TextMapSetter } from "@opentelemetry/api";
import type { JsonObject } from "../jsonrpc/message.ts";
import { metaOf } from "../protocol/revision.ts";
import { contextMembers } from "./names.ts";

/** Returns the members of `_meta` that carry a context to the other side. */
export function contextToMeta(context: Context): { [member: string]: string } {
  const meta: { [member: string]: string } = {};
  propagation.inject(context, meta, setter);
  return meta;
}

/** Returns the context that a request carries, or the given one if it carries none. */
export function contextOf(params: JsonObject, otherwise: Context): Context {
  const meta = metaOf(params);
  // Hot path: most requests carry none.
  if (!meta || (meta["traceparent"] === undefined && meta["baggage"] === undefined)) return otherwise;
  return propagation.extract(otherwise, meta, getter);
}

const setter: TextMapSetter<{ [member: string]: string }> = {
  // Other propagators write other members, which `_meta` does not reserve.
  set(meta, member, value) {
    if (contextMembers.includes(member)) meta[member] = value;
  },
};

const getter: TextMapGetter<JsonObject> = {
  get(meta, member) {
    const value = contextMembers.includes(member) ? meta[member] : undefined;
    return typeof value === "string" ? value : undefined;
  },
  keys: (meta) => contextMembers.filter((member) => Object.hasOwn(meta, member)),
};
