import type { ElicitResult } from "portolan";
import { openBrowser } from "portolan/auth/client";
import type { UrlQuestion } from "portolan-host";
import type { Context } from "../command.ts";
import { heading, warn } from "./heading.ts";

/** Asks whether an address is to be opened: all of it is shown, and where it leads. */
export async function visit(context: Context, { server, params, address }: UrlQuestion): Promise<ElicitResult> {
  const { screen, terminal } = context;
  heading(context, server, "wants you to open an address:");
  terminal.quote(params.message);
  terminal.say(`  ${screen.style("dim", "the address")}`);
  terminal.quote(address.href);
  terminal.say(`  ${screen.style("dim", "leads to")} ${screen.style("bold", screen.safe(address.host))}`);
  for (const warning of address.warnings) warn(context, warning);
  const chosen = await terminal.choose<"open" | "accept" | "decline">([
    { key: "y", label: "open it", value: "open" },
    { key: "m", label: "I open it myself", value: "accept" },
    { key: "n", label: "no", value: "decline" },
  ]);
  if (chosen !== "open") return { action: chosen };
  try {
    await openBrowser(new URL(address.href));
  } catch (reason) {
    // The address is on the screen: there is another way.
    const why = reason instanceof Error ? reason.message : String(reason);
    warn(context, `no browser could be opened (${why}); open the address yourself`);
  }
  return { action: "accept" };
}
