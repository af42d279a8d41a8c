import { type ServerEntry, skeletonOf } from "portolan-host";
import type { ReadConfigs } from "portolan-host/node";
import { inputVariable } from "../servers/find-server.ts";
import { quote } from "../terminal/escape.ts";
import { entryLocation, type Finding, type FindingDetails } from "./finding.ts";

/** Examines configuration files and names, without starting anything. */
export function examineFiles({ entries, shadowed, errors, notes }: ReadConfigs): Finding[] {
  return [
    ...errors.map(({ message }) => ({
      id: "unreadable-file",
      level: "error" as const,
      server: "",
      what: "a file with servers cannot be read",
      why: message,
      next: "correct the file; its servers are not there until then",
    })),
    ...notes.map((note) => ({
      id: "not-done",
      level: "warning" as const,
      server: "",
      what: "a file says what is not done here",
      why: note,
      next: "correct the file, or leave it as it is",
    })),
    ...shadowed.map(({ used, shadowed: hidden }) => ({
      id: "name-collision",
      level: "warning" as const,
      server: used.name,
      what: "several files name it",
      why: `${entryLocation(used)} counts, ${entryLocation(hidden)} does not`,
      next: `give one of them another name, or remove it: portolan remove ${quote(used.name)}`,
    })),
    ...lookalikes(entries),
  ];
}

/** Finds names that look alike. */
function lookalikes(entries: readonly ServerEntry[]): Finding[] {
  const first = new Map<string, string>();
  return entries.flatMap(({ name }) => {
    const skeleton = skeletonOf(name);
    const other = first.get(skeleton);
    if (other === undefined) first.set(skeleton, name);
    if (other === undefined) return [];
    return {
      id: "name-collision",
      level: "warning" as const,
      server: name,
      what: `it looks like ${other}`,
      why: "people and models may take one for the other",
      next: "give one of them another name",
    };
  });
}

/** Explains why an entry cannot be used. */
export function examineEntry(entry: ServerEntry): FindingDetails | undefined {
  const { problem } = entry;
  if (problem === undefined) return undefined;
  const [, input] = /missing \$\{input:([^}]+)\}/.exec(problem) ?? [];
  if (input !== undefined) {
    return {
      id: "missing-variable",
      level: "error",
      what: `it wants to know ${input} from you`,
      why: problem,
      next: `use it on a terminal, where you are asked, or set it: export ${inputVariable(input)}=…`,
    };
  }
  const [, variable] = /missing \$\{(?:env:)?([^}:]+)/.exec(problem) ?? [];
  if (variable !== undefined) {
    return {
      id: "missing-variable",
      level: "error",
      what: `the variable ${variable} is not set`,
      why: problem,
      next: `set it where you start portolan: export ${variable}=…`,
    };
  }
  return {
    id: "unusable-entry",
    level: "error",
    what: "its entry cannot be used as it is",
    why: problem,
    next: `correct ${entryLocation(entry)}`,
  };
}
