/** Path of the metadata of a protected resource (RFC 9728); the path of the resource follows it. */
export const resourceMetadataPath = "/.well-known/oauth-protected-resource";
const oauthPath = "/.well-known/oauth-authorization-server";
const openidPath = "/.well-known/openid-configuration";

/**
 * Returns the URLs where the metadata of an authorization server may be, in the order to try them: the well-known path
 * before the issuer's own path (RFC 8414), then for OpenID also behind it.
 */
export function metadataUrls({ origin, pathname }: URL): string[] {
  const path = pathname.replace(/\/$/, "");
  const before = [`${origin}${oauthPath}${path}`, `${origin}${openidPath}${path}`];
  return path === "" ? before : [...before, `${origin}${path}${openidPath}`];
}
