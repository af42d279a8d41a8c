import type { Tool } from "../../protocol/types/index.ts";

/** What a tool is taken to do. */
export interface Hints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
}

/** The worst that the spec allows to assume. */
const unknownHints: Hints = { readOnly: false, destructive: true, idempotent: false, openWorld: true };

/** What a tool's annotations say, where its server is trusted; otherwise, and where they say nothing, the worst. */
export function hintsOf(tool: Tool, trusted: boolean): Hints {
  const { annotations } = tool;
  if (!trusted || typeof annotations !== "object" || annotations === null) return unknownHints;
  const readOnly = annotations.readOnlyHint === true;
  return {
    readOnly,
    destructive: !readOnly && annotations.destructiveHint !== false,
    idempotent: readOnly || annotations.idempotentHint === true,
    openWorld: annotations.openWorldHint !== false,
  };
}
