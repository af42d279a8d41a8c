import type { OAuthEvent } from "portolan/auth/client";
import type { CommandContext, CommandResult } from "../command.ts";
import { authFor, findHttpServer } from "../servers/sign-in.ts";
import { quote } from "../terminal/escape.ts";
import { refreshWarmTokens } from "../warm/warm-entry.ts";

const forgotten = "the registration of a sign-in that was not finished is forgotten";

/** Deletes the tokens for a server, and revokes them. */
export async function run(context: CommandContext, [given]: readonly string[]): Promise<CommandResult> {
  const { screen, terminal } = context;
  const { entry, url, shown } = await findHttpServer(context, given);
  // The tokens are deleted first, so that they are gone even if the authorization server does not answer.
  let wasSignedIn = false;
  let wasRegistered = false;
  const onEvent = ({ kind }: OAuthEvent) => {
    wasSignedIn ||= kind === "signed-out";
    wasRegistered ||= kind === "unregistered";
  };
  const signingOut = authFor(context, entry, { onEvent })
    .logout(url)
    .finally(() => refreshWarmTokens(context));
  await terminal.waits.during(`signing out at ${screen.safe(shown)}`, signingOut);
  return {
    value: { server: shown, wasSignedIn },
    text: () =>
      wasSignedIn
        ? `${screen.style("green", screen.mark("ok"))} signed out at ${screen.safe(shown)}`
        : `You were not signed in at ${screen.safe(shown)}: ${wasRegistered ? `${forgotten}\n  ${screen.mark("next")} ${screen.step(`portolan login ${quote(given ?? shown)}`)}` : "nothing was changed"}`,
  };
}
