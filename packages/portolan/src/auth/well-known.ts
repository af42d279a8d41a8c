const oauthPath = "/.well-known/oauth-authorization-server";
const openidPath = "/.well-known/openid-configuration";

/** Where the metadata of an authorization server may be, in the order to look: before its path, and behind it for OpenID. */
export function metadataPlaces({ origin, pathname }: URL): string[] {
  const path = pathname.replace(/\/$/, "");
  const before = [`${origin}${oauthPath}${path}`, `${origin}${openidPath}${path}`];
  return path === "" ? before : [...before, `${origin}${path}${openidPath}`];
}
