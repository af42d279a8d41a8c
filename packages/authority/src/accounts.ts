import { type Account, type AdapterPayload, errors, type KoaContextWithOIDC, type RefreshToken } from "oidc-provider";
import { repeatMs } from "./refresh.ts";
import type { Settings } from "./settings.ts";
import type { Link } from "./upstream/upstream.ts";

/** The person of a token that is used now, if they still may; throws InvalidGrant when the token may not be used. */
export async function findAccount(
  settings: Settings,
  link: Link | undefined,
  context: KoaContextWithOIDC,
  subject: string,
  token: unknown,
): Promise<Account | undefined> {
  const { kind, jti, grantId, consumed } = (token ?? {}) as Partial<RefreshToken> & Pick<AdapterPayload, "consumed">;
  const isRefresh = kind === "RefreshToken";
  if (isRefresh && typeof consumed === "number" && Date.now() - consumed < repeatMs) {
    // By now the provider has checked all else about the request.
    context.state["cameSecond"] = { kind, id: jti, grantId };
    throw new errors.InvalidGrant("refresh token is in use");
  }
  const { signIn, accessTokenSeconds } = settings;
  if (signIn.kind === "passwords" && !(await signIn.find(subject))) return undefined;
  if (isRefresh && link && grantId !== undefined) {
    const stands =
      (await link.keeper.stands(grantId)) &&
      (await link.keeper.fresh(grantId, accessTokenSeconds * 1_000)) !== undefined;
    if (!stands) throw new errors.InvalidGrant("the session upstream has ended");
  }
  return { accountId: subject, claims: async () => ({ sub: subject }) };
}

/** Whether an error of the token endpoint says that something came twice. */
export function replayedIn(error: errors.OIDCProviderError): "code" | "refresh-token" | undefined {
  const { error_detail: detail } = error as { error_detail?: string };
  if (detail === "refresh token already used") return "refresh-token";
  return detail === "authorization code already consumed" ? "code" : undefined;
}
