import type { Root } from "../../protocol/types/index.ts";

/** A directory that servers may work in. */
export interface RootDefinition {
  /** An address that begins with `file://`. */
  readonly uri: string;
  readonly name?: string;
  /** Names of the servers that may know of it without a question; the others are asked about. */
  readonly for?: readonly string[];
}

/** Which roots a server may know of at once, and which only if the user agrees. */
export function sortRoots(roots: readonly RootDefinition[], server: string): { given: Root[]; asked: Root[] } {
  const given: Root[] = [];
  const asked: Root[] = [];
  for (const { uri, name, for: servers = [] } of roots) {
    (servers.includes(server) ? given : asked).push(name === undefined ? { uri } : { uri, name });
  }
  return { given, asked };
}
