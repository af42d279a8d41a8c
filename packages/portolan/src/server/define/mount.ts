import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Middleware } from "../extension.ts";
import type { Feature } from "./feature-list.ts";
import type { Parts, Snapshot } from "./snapshot.ts";

interface Mountable extends Feature {
  readonly around: readonly Middleware[];
}

/** The features of a server under a prefix, each inside the middleware of the server it comes from. */
export function mounted(
  prefix: string,
  snapshot: Snapshot,
): Pick<Parts, "tools" | "resources" | "templates" | "prompts"> {
  const { tools, prompts, resources, templates } = snapshot.parts;
  const chain = (method: string) => snapshot.chain(method);
  return {
    tools: tools.map((tool) => under(tool, chain("tools/call"), prefix)),
    prompts: prompts.map((prompt) => under(prompt, chain("prompts/get"), prefix)),
    resources: resources.map((resource) => under(resource, chain("resources/read"))),
    templates: templates.map((template) => under(template, chain("resources/read"))),
  };
}

/** Inherits from the feature, because parts of it may still be loading. */
function under<F extends Mountable>(feature: F, chain: readonly Middleware[], prefix?: string): F {
  const around = [...chain, ...feature.around];
  if (prefix === undefined) return Object.create(feature, { around: { value: around } });
  const key = prefix + feature.key;
  const entry = (): JsonObject => ({ ...feature.entry, name: key });
  return Object.create(feature, { around: { value: around }, key: { value: key }, entry: { get: entry } });
}
