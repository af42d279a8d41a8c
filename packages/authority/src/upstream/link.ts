import type { Settings } from "../settings.ts";
import type { UpstreamSignIn } from "./options.ts";
import { Remote } from "./remote.ts";
import { RemoteKeeper } from "./tokens.ts";
import type { Link } from "./upstream.ts";

const day = 24 * 3_600_000;
const longestCheckSeconds = 60;

/** Connects an authority with the provider upstream; `ended` is called when that has ended what a grant stands on. */
export function createLink(
  settings: Settings,
  signIn: UpstreamSignIn,
  ended: (grantId: string) => Promise<void>,
): Link {
  const { rows, issuer, mount, refreshTokenSeconds, fail } = settings;
  const remote = new Remote(signIn, `${issuer.origin}${mount}/callback`);
  const checkMs = Math.min(signIn.checkSeconds ?? longestCheckSeconds, longestCheckSeconds) * 1_000;
  const keepMs = refreshTokenSeconds * 1_000 + day;
  return { signIn, remote, keeper: new RemoteKeeper({ rows, remote, checkMs, keepMs, ended, fail }) };
}
