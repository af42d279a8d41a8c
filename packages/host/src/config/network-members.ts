import type { ConfiguredOAuth } from "./configured.ts";
import type { Members } from "./members.ts";
import type { Shape } from "./shapes.ts";
import { isTable } from "./value.ts";

/** The headers of an entry, those that come from variables included. */
export function readHeaders(members: Members, shape: Shape): Map<string, string> {
  const headers = new Map(shape.headersAreLines ? headerLines(members, shape) : members.pairs(shape.headers));
  for (const [name, variable] of members.pairs(shape.headerVariables)) headers.set(name, `\${env:${variable}}`);
  const bearer = members.text(shape.bearerVariable);
  if (bearer !== undefined) headers.set("Authorization", `Bearer \${env:${bearer}}`);
  return headers;
}

function headerLines(members: Members, shape: Shape): readonly (readonly [string, string])[] {
  const found = members.find(shape.headers);
  if (!found || isTable(found.value)) return members.pairs(shape.headers);
  return (members.texts(shape.headers) ?? []).map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) members.fail(found.path, "expected lines such as Name: value");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
}

const oauthNames = {
  clientId: ["clientId", "client_id", "CLIENT_ID"],
  clientSecret: ["clientSecret", "client_secret", "CLIENT_SECRET"],
  callbackPort: ["callbackPort", "callback_port"],
  redirectUri: ["redirectUri", "redirect_uri"],
  scopes: ["scopes", "scope"],
} as const;

/** A client that the user has registered by hand. */
export function readOAuth(members: Members, shape: Shape): ConfiguredOAuth | undefined {
  const found = members.find(shape.oauth);
  if (!found || typeof found.value === "boolean") return undefined;
  const inner = members.below(found);
  if (!inner) return undefined;
  const clientId = inner.text(oauthNames.clientId);
  const clientSecret = inner.text(oauthNames.clientSecret);
  const redirectUri = inner.text(oauthNames.redirectUri);
  const scopes = inner.find(oauthNames.scopes);
  const port = inner.find(oauthNames.callbackPort);
  const isPort = Number.isInteger(port?.value) && Number(port?.value) > 0 && Number(port?.value) < 65_536;
  if (port && !isPort) inner.fail(port.path, "expected the number of a port");
  const list = typeof scopes?.value === "string" ? scopes.value.split(/\s+/) : inner.texts(oauthNames.scopes);
  members.adopt(inner);
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(isPort ? { callbackPort: Number(port?.value) } : {}),
    ...(redirectUri === undefined ? {} : { redirectUri }),
    ...(list ? { scopes: list } : {}),
  };
}

/** Folders that the server may be told of, as addresses or as paths. */
export function readRoots(members: Members, shape: Shape): readonly string[] | undefined {
  const found = members.find(shape.roots);
  if (!found) return undefined;
  const items = Array.isArray(found.value) ? found.value.slice(0, 1_000) : [undefined];
  const roots = items.map((item) => (isTable(item) ? item["uri"] : item));
  if (roots.every((root) => typeof root === "string")) return roots;
  members.fail(found.path, "expected a list of addresses");
  return undefined;
}
