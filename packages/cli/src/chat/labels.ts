import type { Host } from "portolan-host";
import type { Flags } from "../command.ts";
import { quote } from "../terminal/escape.ts";

/** A tool that `--yes-read-only` would cover if the person trusted the labels of its server. */
export interface UntrustedLabel {
  readonly message: string;
  /** The command that trusts them. */
  readonly next: string;
}

/** Returns why `--yes-read-only` does not cover a tool that its server labels read-only. Undefined for other tools. */
export function untrustedLabel(
  { catalog, grants, servers }: Pick<Host, "catalog" | "grants" | "servers">,
  flags: Flags,
  server: string,
  tool: string,
): UntrustedLabel | undefined {
  if (flags["yesReadOnly"] !== true) return undefined;
  const definition = catalog.tool(server, tool)?.definition;
  // Only the servers of a file need trust.
  const isFromFile = servers.some(({ name, source }) => name === server && source.kind === "file");
  const isTrusted = grants
    .list()
    .some(({ kind, subject, allow, server: of }) => kind === "trust" && subject === "hints" && allow && of === server);
  if (definition?.annotations?.readOnlyHint !== true || !isFromFile || isTrusted) return undefined;
  return {
    message: `--yes-read-only does not cover ${server}.${tool}: you do not trust the read-only labels of ${server}`,
    next: `portolan trust ${quote(server)} --hints`,
  };
}
