import type { IncomingMessage, ServerResponse } from "node:http";
import type Provider from "oidc-provider";
import type { Interaction } from "oidc-provider";
import type { Settings } from "./settings.ts";

/** A server and its scopes that a client requests. */
export interface RequestedAccess {
  readonly resource: string;
  readonly scopes: readonly string[];
}

export function requestedAccess({ params }: Interaction, settings: Settings): RequestedAccess[] {
  const resources = [params["resource"] ?? []].flat() as string[];
  const requested = scopeOf(params).split(" ");
  return resources.map((resource) => {
    const known = settings.resourceOf(resource)?.scopes ?? {};
    return { resource, scopes: requested.filter((scope) => Object.hasOwn(known, scope)) };
  });
}

export function scopeOf(params: Interaction["params"]): string {
  return String(params["scope"] ?? "");
}

/** Saves a new grant for each consent, so that programs with the same client id stay separate. */
export async function writeGrant(
  provider: Provider,
  settings: Settings,
  interaction: Interaction,
  subject: string,
): Promise<string> {
  const { params } = interaction;
  const grant = new provider.Grant({ accountId: subject, clientId: String(params["client_id"]) });
  for (const { resource, scopes } of requestedAccess(interaction, settings))
    grant.addResourceScope(resource, [...scopes]);
  const standing = scopeOf(params)
    .split(" ")
    .filter((scope) => scope === "openid" || scope === "offline_access");
  if (standing.length > 0) grant.addOIDCScope(standing);
  return grant.save();
}

export async function revokeGrant(provider: Provider, grantId: string): Promise<void> {
  // The grant first: a token that is being issued from it at this moment is then invalid.
  await provider.Grant.adapter.destroy(grantId);
  for (const { adapter } of [provider.RefreshToken, provider.AccessToken, provider.AuthorizationCode]) {
    await adapter.revokeByGrantId(grantId);
  }
}

/** Ends the session of another person in this browser. */
export async function endOtherSession(
  provider: Provider,
  interaction: Interaction,
  subject: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const session = await provider.Session.get(provider.createContext(request, response) as never);
  if (session.accountId === undefined || session.accountId === subject) return;
  await session.destroy();
  delete interaction.session;
  await interaction.persist();
}
