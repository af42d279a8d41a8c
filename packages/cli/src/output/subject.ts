import { describeForTrust, type ServerEntry } from "portolan-host";
import type { Screen } from "../terminal/screen.ts";

/** What a decision about a server is about, whole: no line of it is cut. */
export function showSubject(entry: ServerEntry, screen: Screen): string {
  const { lines } = describeForTrust(entry);
  const width = Math.max(0, ...lines.map(({ label }) => label.length));
  return lines
    .map(({ label, value }) => `  ${screen.style("dim", label.padEnd(width))}  ${screen.safe(value)}`)
    .join("\n");
}
