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
      what: "a configuration file cannot be read",
      why: message.replace(/; correct the file$/, ""),
      next: "correct the file; until then its servers are missing",
    })),
    ...notes.map((note) => ({
      id: "not-done",
      level: "warning" as const,
      server: "",
      what: "a file has a setting that is not supported",
      why: note,
      next: "correct the file, or leave it as it is",
    })),
    ...shadowed.map(({ used, shadowed: hidden }) => ({
      id: "name-collision",
      level: "warning" as const,
      server: used.name,
      what: "several files define it",
      why: `${entryLocation(used)} is used, ${entryLocation(hidden)} is not`,
      next: `rename one of them, or remove it: portolan remove ${quote(used.name)}`,
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
      what: `its name looks like ${other}`,
      why: "people and models may confuse them",
      next: "rename one of them",
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
      what: `it needs the input ${input}`,
      why: problem,
      next: `use it in a terminal, where you are asked, or set it: export ${inputVariable(input)}=…`,
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
    what: "its entry is not usable",
    why: problem,
    next: `correct ${entryLocation(entry)}`,
  };
}
