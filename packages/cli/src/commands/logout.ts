import type { Context, Shown } from "../command.ts";
import { authFor, httpTarget } from "../servers/sign-in.ts";

/** Forgets the tokens for a server and has them revoked. */
export async function run(context: Context, [given]: readonly string[]): Promise<Shown> {
  const { screen } = context;
  const { entry, url } = await httpTarget(context, given);
  await authFor(context, entry).logout(url);
  return {
    value: { server: url },
    text: () => `${screen.style("green", screen.mark("ok"))} signed out at ${screen.safe(url)}`,
  };
}
