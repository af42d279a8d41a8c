import { textFlag } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { findGrants, grantsTable, isInformative, revokedText, sortGrants } from "../output/grants.ts";
import { withHost } from "../servers/host.ts";

/** Lists permanent grants and refusals, or revokes one. */
export async function run(context: CommandContext, _: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen } = context;
  const wanted = textFlag(flags, "revoke");
  return withHost(context, [], async (host) => {
    const grants = sortGrants(host.grants.list());
    if (wanted !== undefined) {
      const found = findGrants(grants, wanted, "portolan grants");
      for (const { id } of found) await host.grants.revoke(id);
      const ids = found.map(({ id }) => id);
      const ok = screen.style("green", screen.mark("ok"));
      return {
        // A name may stand for several: a tool whose definition changed since.
        value: { revoked: ids.length === 1 ? ids[0] : ids },
        text: () => found.map((grant) => `${ok} ${revokedText(grant, screen)}`).join("\n"),
      };
    }
    return {
      value: { grants },
      text: () => {
        const shown = grants.filter(isInformative);
        return shown.length === 0 ? "Nothing is permanently allowed or denied." : grantsTable(shown, screen);
      },
    };
  });
}
