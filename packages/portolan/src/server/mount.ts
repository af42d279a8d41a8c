import type { Feature } from "./feature-list.ts";
import type { Parts, Snapshot } from "./snapshot.ts";

/** The features of a server under a prefix, each inside the middleware of the server it comes from. */
export function mounted(
  prefix: string,
  snapshot: Snapshot,
): Pick<Parts, "tools" | "resources" | "templates" | "prompts"> {
  const { parts } = snapshot;
  const inside = <F extends Feature & { around: Parts["tools"][number]["around"] }>(
    method: string,
    features: readonly F[],
  ): F[] => {
    const chain = snapshot.chain(method);
    return features.map((feature) => ({ ...feature, around: [...chain, ...feature.around] }));
  };
  const renamed = <F extends Feature>(features: F[]): F[] =>
    features.map((feature) => {
      const name = prefix + feature.key;
      return { ...feature, key: name, entry: { ...feature.entry, name } };
    });
  return {
    tools: renamed(inside("tools/call", parts.tools)),
    prompts: renamed(inside("prompts/get", parts.prompts)),
    resources: inside("resources/read", parts.resources),
    templates: inside("resources/read", parts.templates),
  };
}
