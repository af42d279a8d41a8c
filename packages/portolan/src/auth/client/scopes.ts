import type { Refused } from "./challenge.ts";
import type { Credential } from "./credential.ts";
import type { Authority, ResourceMetadata } from "./discovery.ts";
import { AuthFailure, plain } from "./errors.ts";
import type { OAuthOptions } from "./settings.ts";

/** What scopes follow from. */
export interface ScopeSources {
  readonly refused: Refused;
  readonly resource: ResourceMetadata | undefined;
  readonly previous: Credential | undefined;
  readonly authority: Authority;
}

/** What the server asks for now, else what it says it may ask for; and what was asked for before. */
export function scopesFor(sources: ScopeSources, { scopes = [], offline = true, grant }: OAuthOptions): string[] {
  const { refused, resource, previous, authority } = sources;
  const wanted = refused.scopes ?? resource?.scopes ?? [];
  const isOffered = offline && !grant && authority.metadata.scopes_supported?.includes("offline_access");
  const named = [...(previous?.scopes ?? []), ...wanted, ...scopes];
  // Alone it would say that nothing else is wanted, where saying nothing leaves the choice to the authorization server.
  const later = isOffered && named.length > 0 ? ["offline_access"] : [];
  return [...new Set([...named, ...later])];
}

/** Throws where a server asks for scopes that a person was asked for already: another question would not help. */
export function checkStepUp(server: URL, { scopes = [] }: Refused, previous: Credential | undefined): void {
  if (!previous || scopes.some((scope) => !previous.scopes.includes(scope))) return;
  throw new AuthFailure(
    `${server.origin} wants the scopes ${plain(scopes.join(" "))}, which were asked for and not given; ` +
      "log out and in again to be asked once more",
  );
}
