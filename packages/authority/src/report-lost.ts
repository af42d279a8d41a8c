import type { IncomingMessage } from "node:http";
import type { KoaContextWithOIDC } from "oidc-provider";
import { PortolanError } from "portolan";
import { cookieIn } from "./browser.ts";
import type { Settings } from "./settings.ts";

/**
 * Reports a sign-in that this process cannot continue, because it is not in the storage or has expired.
 *
 * @param cookies only a browser that has begun a sign-in has one of these
 */
export function reportLostSignIn(
  settings: Settings,
  request: IncomingMessage,
  cookies: readonly string[] = [settings.cookieName("page", "below"), settings.cookieName("resume", "below")],
): void {
  settings.emitNotFound("sign-in", settings.addressOf(request));
  if (cookies.some((name) => cookieIn(request, name) !== undefined)) report(settings, "A sign-in cannot be continued");
}

/** Reports an authorization request of a client that is not in the storage. */
export function reportLostClient(settings: Settings, { req }: KoaContextWithOIDC): void {
  settings.emitNotFound("client", settings.addressOf(req));
}

/** Reports a request for tokens that was refused because something is not in the storage or has expired. */
export async function reportLostToken(settings: Settings, context: KoaContextWithOIDC): Promise<void> {
  const { refusal } = context.state as { readonly refusal?: string };
  if (refusal === undefined || !/^(client|authorization code|refresh token) (not found|is expired)/.test(refusal))
    return;
  const { params } = context.oidc;
  const isCode = params?.["grant_type"] === "authorization_code";
  const what = refusal.startsWith("client") ? "client" : isCode ? "code" : "refresh-token";
  if (what === "code") {
    const key = await settings.rows.keyOf("AuthorizationCode", String(params?.["code"]));
    if (await settings.rows.wasTaken(key)) return;
  }
  settings.emitNotFound(what, settings.addressOf(context.req));
  // A code is redeemed within seconds. A refresh token or a client may be older than anything that is kept.
  if (isCode) report(settings, `A ${what} is unknown, although its sign-in has just ended`);
}

function report(settings: Settings, what: string): void {
  const causes =
    settings.options.storage === undefined
      ? "this authority has no `storage`: what another process began, or this one before it was restarted, is unknown here"
      : "another process does not have the same `storage`, or the clocks of the processes differ";
  const text = `${what}: it is not in the storage of this process, or has expired. If this happens often, ${causes}.`;
  settings.reportSometimes(what, new PortolanError("invalid-argument", text));
}
