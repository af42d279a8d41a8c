import type { TrustQuestion, TrustVerdict } from "portolan-host";
import type { Context } from "../command.ts";
import { widthOf } from "../terminal/width.ts";
import { heading } from "./heading.ts";

/** Asks whether a server that a file names may be started: all of what is written is shown. */
export async function askTrust(context: Context, { server, subject }: TrustQuestion): Promise<TrustVerdict> {
  const { screen, terminal } = context;
  heading(context, server, "is to be started for the first time, or has changed:");
  for (const { label, value } of subject.lines) {
    // On one line where it fits, and else by itself: no value can look like a line of its own.
    const line = `${label}: ${screen.safe(value)}`;
    if (widthOf(line) <= terminal.columns - 5) terminal.bar(line);
    else {
      terminal.bar(`${label}:`);
      terminal.bar(screen.safe(value));
    }
  }
  return terminal.choose<TrustVerdict>([
    { key: "y", label: "yes, once", value: { allow: true, for: "session" } },
    { key: "a", label: "always", value: { allow: true, for: "always" } },
    { key: "b", label: "always, and believe its hints", value: { allow: true, for: "always", trustHints: true } },
    { key: "n", label: "no", value: { allow: false } },
  ]);
}
