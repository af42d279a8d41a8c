import type { JsonObject, ServerCapabilities } from "portolan";
import type { ExtensionParts, ServerExtension } from "portolan/server";
import { withoutServerInfo } from "../output/content.ts";

const skillsId = "io.modelcontextprotocol/skills";
const appsId = "io.modelcontextprotocol/ui";

/** Sends a request of a client to the upstream server. */
export type ForwardRequest = (method: string, params: JsonObject, signal: AbortSignal) => Promise<object>;

/** Returns the extensions of an upstream server that a proxy server can offer: skills, and the apps of tools. */
export function forwardedExtensions(
  { extensions = {} }: ServerCapabilities,
  request: ForwardRequest,
): ServerExtension[] {
  const skills = extensions[skillsId];
  return [...(skills ? [forwardSkills(skills as JsonObject, request)] : []), ...(extensions[appsId] ? [apps] : [])];
}

function forwardSkills(settings: JsonObject, request: ForwardRequest): ServerExtension {
  const methods = ["skills/list", "skills/get", ...(settings["directoryRead"] ? ["resources/directory/read"] : [])];
  return {
    id: skillsId,
    on({ requests: known }): ExtensionParts {
      const isCacheable = known.get("resources/list")?.cacheable === true;
      const requests = methods.map((method) => {
        const handle: NonNullable<ExtensionParts["requests"]>[string]["handle"] = async ({ params, signal }) => {
          const { _meta: _, ...own } = params;
          return toResult(await request(method, own, signal), isCacheable);
        };
        return [method, { handle }] as const;
      });
      return { isOpen: true, settings, requests: Object.fromEntries(requests) };
    },
  };
}

/** The result as the revision of the client has it: only stateless ones have lifetimes, and they require them. */
function toResult(result: object, isCacheable: boolean): JsonObject {
  const { resultType: _, ttlMs = 0, cacheScope = "private", ...rest } = withoutServerInfo(result) as JsonObject;
  return isCacheable ? { ...rest, ttlMs, cacheScope } : rest;
}

/** Shows the apps of tools to the clients that know apps. A tool that is for apps alone is hidden from all others. */
const apps: ServerExtension = {
  id: appsId,
  on: () => ({
    isOpen: true,
    settings: {},
    decorate(entry, { kind, isDeclared }) {
      const { ui, ...meta } = Object(entry["_meta"]) as { ui?: { visibility?: unknown } };
      if (kind !== "tool" || isDeclared || ui === undefined) return entry;
      if (Array.isArray(ui.visibility) && !ui.visibility.includes("model")) return undefined;
      const { _meta: _, ...rest } = entry;
      return Object.keys(meta).length > 0 ? { ...rest, _meta: meta as JsonObject } : rest;
    },
  }),
};
